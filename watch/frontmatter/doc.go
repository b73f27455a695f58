// Package frontmatter reads the options that a prompt's text may begin with:
//
//	---
//	model: qwen3.7-plus
//	chat: intro
//	attach: [figure.png, data.csv]
//	---
//	The text that is sent.
//
// It is strict, because what is taken for options is not sent. A text has
// options when, and only when, its first line is "---", a later line is "---"
// again, and the lines between are one YAML mapping whose keys are all known.
// Nothing known there: all of it is text, byte for byte, as a Markdown file may
// begin with a rule. Known keys beside unknown ones, or a known key whose value
// cannot be, is an error that names the line: a person meant options, and what
// they asked for must not be left out in silence.
//
// A head that has known keys only and no closing line is not whole yet
// ([ErrUnfinished]): the rest may still be on its way.
//
// The mapping is read from YAML's syntax tree and never decoded: anchors,
// aliases and tags are refused, so there is nothing that could grow.
package frontmatter
