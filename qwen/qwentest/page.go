package qwentest

import "net/http"

func (c *call) page() { c.html(http.StatusNotFound, "") }
