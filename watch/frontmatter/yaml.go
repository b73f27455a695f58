package frontmatter

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// pair is one key of the mapping.
type pair struct {
	line  int    // of the text
	key   string // "" for one that is no string, and so no key of ours
	value ast.Node
}

// maxDepth bounds how deep brackets are nested before the parser, which goes
// down as deep, is asked. Ours are never nested.
const maxDepth = 32

// mapping parses the head. It errs unless that is one mapping, or nothing.
func mapping(head string) (list []pair, err error) {
	if strings.Count(head, "[") > maxDepth*8 || strings.Count(head, "{") > maxDepth {
		return nil, errors.New("it is nested too deep")
	}
	// A parser that stumbles over its input has found no mapping.
	defer func() {
		if r := recover(); r != nil {
			list, err = nil, fmt.Errorf("it is no YAML: %v", r)
		}
	}()
	file, err := parser.ParseBytes([]byte(head), 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, fmt.Errorf("it is no YAML: %s", firstLine(err.Error()))
	}
	if len(file.Docs) != 1 {
		return nil, errors.New("it is not one YAML mapping")
	}
	switch body := file.Docs[0].Body.(type) {
	case nil, *ast.CommentGroupNode:
		return nil, nil
	case *ast.MappingValueNode:
		return append(list, pairOf(body)), nil
	case *ast.MappingNode:
		for _, v := range body.Values {
			list = append(list, pairOf(v))
		}
		return list, nil
	}
	return nil, errors.New("it is no YAML mapping")
}

// firstLine of a parser's error; the others show the source.
func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}

func pairOf(v *ast.MappingValueNode) pair {
	p := pair{value: v.Value, line: 1}
	if t := v.Key.GetToken(); t != nil && t.Position != nil {
		p.line = t.Position.Line + 1 // the rule is the first
	}
	if s, ok := v.Key.(*ast.StringNode); ok {
		p.key = s.Value
	}
	return p
}

// scalar is the text of a value that stands on its own; "" with a reason when it
// is none. Numbers and the like are taken as they are written.
func scalar(n ast.Node) (text, reason string) {
	switch n := n.(type) {
	case *ast.StringNode:
		text = n.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		text = n.GetToken().Value
	case nil, *ast.NullNode:
		return "", "it has no value"
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode:
		return "", "anchors, aliases and tags are not allowed"
	default:
		return "", "it takes one value on one line"
	}
	switch {
	case strings.TrimSpace(text) == "":
		return "", "it has no value"
	case strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "", "it takes one value on one line"
	}
	return text, ""
}

// scalars are the values of a list, or the one that stands for a list of one.
func scalars(n ast.Node) (list []string, reason string) {
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		one, reason := scalar(n)
		return []string{one}, reason
	}
	for _, v := range seq.Values {
		one, reason := scalar(v)
		if reason != "" {
			return nil, reason
		}
		list = append(list, one)
	}
	return list, ""
}
