package qwentest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"
)

var durationType = reflect.TypeFor[time.Duration]()

// apply sets the fields of *target that a JSON object names, ignoring case.
// Durations are strings such as "1.5s", or milliseconds.
func apply(target any, raw []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return fmt.Errorf("read settings: %w", err)
	}
	v := reflect.ValueOf(target).Elem()
	for name, value := range fields {
		field := v.FieldByNameFunc(func(s string) bool { return strings.EqualFold(s, name) })
		if !field.IsValid() || field.Kind() == reflect.Interface {
			return fmt.Errorf("set %s: there is no such setting", name)
		}
		if err := applyOne(field, value); err != nil {
			return fmt.Errorf("set %s: %w", name, err)
		}
	}
	return nil
}

func applyOne(field reflect.Value, raw json.RawMessage) error {
	if field.Type() != durationType {
		return json.Unmarshal(raw, field.Addr().Interface())
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		d, err := time.ParseDuration(text)
		field.SetInt(int64(d))
		return err
	}
	var ms float64
	err := json.Unmarshal(raw, &ms)
	field.SetInt(int64(ms * float64(time.Millisecond)))
	return err
}

// readable gives the fields of a struct for JSON, durations as text.
func readable(v any) map[string]any {
	out := map[string]any{}
	s := reflect.ValueOf(v)
	for i := range s.NumField() {
		switch f := s.Field(i); {
		case f.Kind() == reflect.Interface:
		case f.Type() == durationType:
			out[s.Type().Field(i).Name] = time.Duration(f.Int()).String()
		default:
			out[s.Type().Field(i).Name] = f.Interface()
		}
	}
	return out
}
