// Package routertest is a small server with an OpenAI-compatible chat endpoint
// for tests. It answers by computing from the prompt, can be told to go wrong, and
// keeps a ledger of what reached it. It imports nothing of the program.
package routertest
