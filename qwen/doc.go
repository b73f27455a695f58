// Package qwen drives the web chat of chat.qwen.ai through its own page in a
// real Chromium, as a person would and at a person's pace.
//
// A [Client] holds one browser on one [Profile] and at most one loaded page.
// Its three calls are Send, Read and Find. Read and Find fetch the site's own
// JSON from inside the loaded page. Send types the text into the composer and
// lets exactly one request carry it:
//
//	page loaded → ready → filled, read back → send pressed
//	→ the request is held → the proxy shuts → the body is verified
//	→ commit (the caller makes the address durable)
//	→ the proxy allows one connection → the request is let go
//	→ headers → the proxy reopens → the site names our message
//
// Three things make "exactly one" true. The gate (gate.go) holds every request
// of the page through the Fetch domain. The guard (guard.go) takes care of what
// the gate can't see: other pages and shared workers are ended before they run,
// service workers get a gate of their own, and a web socket that is opened while
// a prompt is in the page spoils the send. The proxy (proxy.go) is the browser's
// only way out of the machine: it dies with this program, and between the hold
// and the first headers it carries at most one connection to the site, because
// Chromium repeats a POST by itself when a reused connection breaks, and through
// that one the body only once (once.go), because Chromium also repeats what an
// h2 server says it did not process.
//
// A send that fails is settled (send.go) before Send returns: what was held is
// refused and the refusal awaited, or what could still send has been ended with
// the site out of reach. What is not covered: a web socket of a worker of the
// page, and a body that the page compresses itself.
//
// Everything that is known of the site (paths, selectors, script names) stands
// in site.go. JavaScript stands in js/, one function a file. The package knows
// nothing of the folder or of the schedule.
package qwen
