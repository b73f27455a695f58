// Package router asks an OpenAI-compatible endpoint, such as 9router on this
// machine, for one completion. It knows nothing of jobs, folders or chats.
//
// A completion costs money or quota and can't be asked for again by an id. So
// one call makes one request, whatever happens: the library's retries are off,
// the connection is fresh (net/http repeats a request only on one that was used
// before), HTTP/2 with its own repeats is off, a redirect is not followed, and a
// second round trip of the same call is refused.
//
// An answer is taken for whole on positive evidence only: the reply said
// finish_reason "stop" and there is text. The call asks for a stream, because
// there a silent endpoint can be told from a slow one; an endpoint that replies
// with a plain JSON object instead is understood, too. Whether the stream ended
// in "[DONE]" proves nothing either way: some endpoints leave it out, and some
// send it after an answer that broke off.
//
// An [Error] tells which of three things happened: nothing left this machine;
// the endpoint refused, in a way that is known to come before any work; or the
// prompt was taken, or may have been, and there is no whole answer.
package router
