// Package state is the protocol by which a prompt is sent exactly once: which
// files a job has, what they say about it, and in which order they are
// written. It knows no chat site, starts no goroutine and logs nothing.
//
// # The files are the state
//
// A job is a prompt's name in its folder. There is no database beside the
// folder and nothing to repair after a crash: the names that exist say all.
//
//	NAME.prompt         the user's text; never touched by the program
//	NAME.md.url         the marker: one line, the chat's address
//	NAME.md             the answer
//	NAME.md.err         why the job failed for good
//	NAME.prompt.hold    the user: do not send yet
//	NAME.prompt.cancel  the user: do not send, or stop waiting
//	NAME.prompt.retry   the user: put marker and answer aside, send anew
//	NAME.prompt.ready   the user: the upload is complete
//	watcher.hold        a person: this folder sends nothing
//	watcher.paused      the program's notice that sending is paused
//
// What was put aside is NAME.md.url.1, NAME.md.1 and so on. Names that begin
// with a dot are never a job's; the program's temporary files are among them
// (.watcher-OWNER-RANDOM.tmp), and the witness of a notice ([WitnessFile]).
//
// [Parse] and [Name.File] are inverses: no suffix is the end of another one,
// so that a file belongs to one job and two jobs never share a file. The job
// of x.md.prompt is "x.md": its marker is x.md.md.url, not x.md.url.
//
// # Phases
//
// [Files.Phase] goes through the names; the first that is there decides:
//
//	NAME.md      Done    for ever, whoever made it, even when it is empty
//	NAME.md.err  Failed
//	NAME.md.url  Sent    it may have left: collect the answer, never send
//	NAME.prompt  New
//	none         Absent
//
// Taking a file away is therefore how a user goes back: without its .md a job
// is collected again, without .md and .md.url it is sent again.
//
// # Sending
//
// The prompt must not leave before the marker is durable, and must not leave
// twice. The caller holds the request that carries the prompt, and:
//
//  1. [Dir.ReadPrompt] reads the text and makes it durable.
//  2. [Dir.Prepare] makes the marker's temporary file at full length, so that
//     a full disk or a read-only folder shows before anything else happens.
//  3. When the site has given the chat's id: [Dir.Lookup] says New, [May] does
//     not say no, [Dir.ReadPrompt] gives the same text as before.
//  4. [Pending.Commit], with the stage "released": write, fsync, close,
//     link(2), fsync of the folder. Only when it returns nil may the request
//     go. In every other case it is refused.
//  5. [Dir.Advance] to the stage "sent" when the site has confirmed.
//
// link(2) is the one decision in all this. It fails when the name exists, for
// one winner among any number of programs and hosts, and what appears under
// the name is whole from the first moment. A look at the folder is never
// enough: another host's new file may show half a minute late.
//
// The stage "released" means that it may have left. Whether it did, only the
// chat can tell; when the chat is proved to be empty, [Dir.Retire] puts the
// marker aside and the job is New again. All else that a marker may hold reads
// as "sent", and that never allows another send. A marker that was found is
// made durable before it is believed ([Dir.Believe]), because its writer may
// have died between the link and the fsync.
//
// # Another engine
//
// A marker whose Engine is set says that the prompt was given to another engine
// than the chat; its address leads to no chat. It is made in the same way, so
// that one prompt has one engine. After the chat's answer failed,
// [Dir.Exchange] puts such a marker in the place of the chat's, of which a copy
// is kept: the name is never free on the way.
//
// # Collecting
//
// [Dir.WriteAnswer] and [Dir.WriteError] go the way of the marker: a temporary
// file, fsync, link, fsync of the folder. An answer is never partial and never
// replaces a file.
//
// # A retry
//
// The .retry file goes last: Retire, then [Dir.ArchiveAnswer] and
// [Dir.ArchiveError], then [Dir.Remove]. After a crash on the way it is simply
// obeyed again. [May] says no while it is there.
//
// # Errors
//
// Only "does not exist" means absent. The error of a call proves nothing when
// a reply can get lost, so after one the folder is looked at; if that is no
// help the error is [ErrInDoubt]. An fsync that failed is never repeated on
// the same file: the second one succeeds over lost data.
//
// # Where the file system has no hard links
//
// (vfat, exFAT, some network shares.) The name is then given by a rename that
// does not replace, which is as good. Where that is missing, too, the marker
// is created exclusively under its own name and then written; a crash between
// the two leaves it empty or cut, which reads as "sent, address unknown" and
// needs a person. An answer is then renamed after a look, so that it is still
// whole, but would replace a file made in the same instant.
//
// # What is assumed
//
// fsync is honest. One profile is in use on one machine, and whoever advances,
// retires or sweeps holds its lock. Nobody puts an older marker back: that is
// the same as deleting it. The folder is on Linux.
package state
