package qwen

import (
	"bytes"
	"encoding/json"
	"io"
	"reflect"
	"slices"
	"strings"
)

// siteFileMost bounds a site file; the built-in table has 3 kB.
const siteFileMost = 1 << 20

// ReadSite reads a site table from JSON: an object with the keys of [Site]. A
// key that is missing keeps its default, a list replaces the default list. An
// error names the key that is unknown or has a wrong value; it is of kind
// invalid.
func ReadSite(r io.Reader) (Site, error) {
	table := DefaultSite()
	b, err := io.ReadAll(io.LimitReader(r, siteFileMost))
	if err != nil {
		return table, siteFileError("%w", err)
	}
	b = bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))
	var given map[string]json.RawMessage
	if err := json.Unmarshal(b, &given); err != nil {
		return table, siteFileError("it is not a JSON object: %w", err)
	}
	fields := siteFields(&table)
	for key, raw := range given {
		field, ok := fields[key]
		if !ok {
			return table, siteFileError("the key %q is not known; known are %s", key, strings.Join(SiteKeys(), ", "))
		}
		if err := setSiteField(key, raw, field); err != nil {
			return table, err
		}
	}
	return table, nil
}

// SiteKeys lists the keys of a site file, in the order of [Site].
func SiteKeys() []string {
	var keys []string
	for i := range reflect.TypeFor[Site]().NumField() {
		keys = append(keys, siteKey(i))
	}
	return keys
}

func siteKey(field int) string { return reflect.TypeFor[Site]().Field(field).Tag.Get("json") }

// siteFields are pointers to the table's fields by their keys.
func siteFields(table *Site) map[string]any {
	v := reflect.ValueOf(table).Elem()
	fields := map[string]any{}
	for i := range v.NumField() {
		fields[siteKey(i)] = v.Field(i).Addr().Interface()
	}
	return fields
}

// setSiteField reads one key's value: a text, a list of texts, none of them
// empty, or a number. Whatever is neither a list nor the name of a global is a path.
func setSiteField(key string, raw json.RawMessage, field any) error {
	switch field := field.(type) {
	case *[]string:
		var list []string
		if json.Unmarshal(raw, &list) != nil || len(list) == 0 || slices.Contains(list, "") {
			return siteFileError("%q must be a list of texts, not empty, like [\"textarea\"]; it is %s", key, oneLine(string(raw), 60))
		}
		*field = list
	case *string:
		var text string
		if json.Unmarshal(raw, &text) != nil || text == "" {
			return siteFileError("%q must be a text; it is %s", key, oneLine(string(raw), 60))
		}
		if key != "data" && !strings.HasPrefix(text, "/") {
			return siteFileError("%q must be a path that begins with /; it is %q", key, oneLine(text, 60))
		}
		if key == "chat" && !strings.HasSuffix(text, "/") {
			return siteFileError("%q must end in /, as a chat's id comes behind it; it is %q", key, oneLine(text, 60))
		}
		*field = text
	case *int:
		var n int
		if json.Unmarshal(raw, &n) != nil || n < 0 || string(raw) == "null" {
			return siteFileError("%q must be a number, 0 or more; it is %s", key, oneLine(string(raw), 60))
		}
		*field = n
	}
	return nil
}

func siteFileError(format string, args ...any) error {
	e := fail(KindInvalid, "read the site file", format, args...)
	e.Advice = "docs/site-file.md describes the keys"
	return e
}
