package qwentest

import (
	"encoding/json"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// File is an upload as the site has it.
type File struct {
	Name string
	Size int
	Text string // its bytes
}

// upload is a file on its way.
type upload struct {
	id, owner, name, kind string
	size                  int    // as it was announced
	body                  []byte // nil until it came
	parsing               time.Time
}

// ossPath begins the paths of the stand-in for the storage to which files go.
const ossPath = "/oss/"

// fileToken is POST /api/v2/files/getstsToken: a place in the storage.
func (c *call) fileToken() {
	var body struct {
		Name string `json:"filename"`
		Size string `json:"filesize"`
		Kind string `json:"filetype"`
	}
	size, err := 0, json.NewDecoder(c.r.Body).Decode(&body)
	if err == nil {
		size, err = strconv.Atoi(body.Size)
	}
	if err != nil || body.Name == "" {
		c.refuse(422, "RequestValidationError", []string{"Field 'body -> filesize': Input should be a valid string"})
		return
	}
	if c.unsigned() {
		return
	}
	if strings.HasSuffix(body.Name, ".exe") {
		c.refuse(400, "Bad_Request", "The file type is not supported.")
		return
	}
	s := c.site
	s.mu.Lock()
	owner, refusal := c.owner()
	u := &upload{id: uuid.NewString(), owner: owner, name: body.Name, kind: body.Kind, size: size}
	if refusal == nil {
		s.uploads[u.id] = u
	}
	s.mu.Unlock()
	if refusal != nil {
		refusal()
		return
	}
	where := owner + "/" + u.id + "_" + body.Name
	base := c.options.OSS
	if base == "" {
		base = origin(c.r)
	}
	c.ok(obj{
		"access_key_id": "STS.rehearsal", "access_key_secret": "rehearsal", "security_token": "rehearsal",
		"bucketname": "qwen-webui-prod", "region": "oss-ap-southeast-1", "endpoint": base, "file_id": u.id,
		"file_path": where, "file_url": base + ossPath + u.id,
	})
}

// oss is the storage: it takes files from the pages of other origins.
func (c *call) oss() {
	h := c.w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Allow-Methods", "PUT")
	h.Set("Access-Control-Allow-Headers", "*")
	if c.r.Method != http.MethodPut {
		c.w.WriteHeader(http.StatusNoContent)
		return
	}
	raw, err := io.ReadAll(c.r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	c.meets(c.site.take(OnUpload, "", c.reused(), false))
	if c.strike() {
		return
	}
	s := c.site
	s.mu.Lock()
	u := s.uploads[path.Base(c.r.URL.Path)]
	if u != nil {
		u.body = append([]byte{}, raw...)
	}
	s.mu.Unlock()
	if u == nil {
		c.w.WriteHeader(http.StatusForbidden)
		return
	}
	c.w.WriteHeader(http.StatusOK)
}

// parseFile is POST /api/v2/files/parse.
func (c *call) parseFile() {
	var body struct {
		ID string `json:"file_id"`
	}
	_ = json.NewDecoder(c.r.Body).Decode(&body)
	s := c.site
	s.mu.Lock()
	u := s.uploads[body.ID]
	if u != nil && u.body != nil && u.parsing.IsZero() {
		u.parsing = s.now()
	}
	s.mu.Unlock()
	if u == nil || u.parsing.IsZero() {
		c.notFound("file")
		return
	}
	c.ok(obj{"status": true})
}

// parseStatus is POST /api/v2/files/parse/status.
func (c *call) parseStatus() {
	var body struct {
		IDs []string `json:"file_id_list"`
	}
	_ = json.NewDecoder(c.r.Body).Decode(&body)
	s := c.site
	s.mu.Lock()
	list := []obj{}
	for _, id := range body.IDs {
		list = append(list, obj{"file_id": id, "status": s.parsed(s.uploads[id])})
	}
	s.mu.Unlock()
	c.ok(list)
}

// parsed is a file's state; s.mu is held.
func (s *Site) parsed(u *upload) string {
	switch {
	case u == nil || s.options.ParseFails:
		return "failed"
	case u.parsing.IsZero() || s.now().Sub(u.parsing) < s.options.ParseTime:
		return "running"
	}
	return "success"
}

// sentFile is one entry of a message's files.
type sentFile struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Status string `json:"status"`
}

// attached are the files that a message comes with; a refusal when one is not
// there. s.mu is held.
func (c *call) attached(owner string, list []sentFile) (files []File, refusal func()) {
	for _, f := range list {
		u := c.site.uploads[f.ID]
		if u == nil || u.owner != owner || u.body == nil || u.kind != "image" && c.site.parsed(u) != "success" {
			return nil, func() { c.notFound("file") }
		}
		files = append(files, File{Name: u.name, Size: len(u.body), Text: string(u.body)})
	}
	return files, nil
}

// Files returns what came with the message that holds a prompt, in order.
func (s *Site) Files(prompt string) []File {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ledger.files[prompt]
}
