package qwentest

import "net/http"

func (s *Site) serveAdmin(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) }
