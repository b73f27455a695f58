// Package watch is the agent: it sees prompts come into folders, sends each
// exactly once through a web chat, and writes the answers beside them. It
// knows no chat site, only the [Chat] interface, and leaves every file of a
// job to package state.
//
// # How it works
//
// An [Agent] is one state machine in two uses. [Agent.Run] watches folders
// until its context ends; [Agent.Generate] does the next step for some files
// and reports it, for cron and make. A running agent does such steps for
// others, too: [Agent.Step].
//
// What to do about a job follows from the names in its folder, read anew each
// time. The function decide (decide.go) takes a view of one job and returns
// one action with its reason, and does nothing else:
//
//	New     send it, once it has settled and nothing holds it
//	Sent    read its chat; a whole answer is written
//	        ("released" by us: first find out whether it left at all;
//	        without an address: look for its chat)
//	Failed  nothing, until a person removes the .md.err or edits the prompt
//	Done    nothing
//
// A user's .cancel or .retry comes before that (control.go, retry.go): the job
// is ended, or what says that it was sent is put aside. A retry is obeyed by the
// marker's owner alone, [Retry] does the same for a command.
//
// One goroutine (loop.go) owns the table of jobs. It waits for a kick, a
// request, a report, or one timer that is set to the next due time, and for
// nothing else. A second goroutine, the courier (courier.go), carries out one
// order at a time and is the only one who talks to the chat, which may take
// minutes. A third listens to fsnotify. Events are hints: each is a kick to
// look again, at its job or at the folder, a rescan runs in any case, and
// start-up takes the same road.
// So nothing depends on an event that comes, and nothing is lost with one.
//
// # How a prompt is sent once
//
// The courier makes room for the marker, hands the text to [Chat.Send], and
// when the driver holds the one request that carries it, looks at the folder
// again and commits the marker. Only then may a byte leave (send.go). What
// Send returns decides the rest (sent.go): an error that promises that nothing
// left takes the marker back; after any other, the job is in doubt, and stays
// so until the chat shows a message or two reads, after the grace time and some
// time apart, prove that there is none (memory.go, judge). A prompt is sent
// again for no other reason. The times are measured by the process that waits,
// on the monotonic clock: no file and no wall clock can shorten them.
//
// # What a prompt asks for
//
// A prompt can begin with options (package frontmatter, [ReadPrompt]). The loop
// reads them once for each version of a file that has settled (wish.go); what
// they come to, terms, follows from the files alone (terms.go), so a status
// command says the same ([Config.Outlook]). The courier looks at all of it again
// before the send, and while it is held. A follower goes on in its parent's chat:
// its marker has the parent's address and names the message that it follows, so
// one address can stand in several markers. In one chat one question is open at a
// time. What is attached is copied first (pack.go): the copies are uploaded.
//
// # Another engine
//
// Where one is set up ([Fallback]), a prompt can go to an [Engine] instead: one
// call, of which nothing is left to come back to (engine.go decides, route.go
// does it). The marker comes first there, too, so that one prompt has one
// engine; a job whose chat failed never is New on its way.
//
// # What goes wrong
//
// A failure has a class (class.go). One job's own ends that job with a .md.err
// and the others go on. The queue's fails no job: sending pauses, one careful
// attempt is made at growing intervals, and all goes on by itself when one
// works (pause.go, account.go). An error of a folder's disk pauses that folder.
// So does a tool that takes the markers away and leaves the prompts (gone.go):
// that pause stands in the folder and only a person ends it. Each folder where
// somebody waits has a notice, watcher.paused (notice.go); to delete it is to
// say "try now".
//
// Every .md.err ends in the command to go on (failure.go). Sends keep their
// distance in time and number, also over the end of a program (pace.go).
//
// # Watching the watcher
//
// What the agent does can be counted ([Config.Observe]), and what it has in its
// table asked for ([Agent.Survey]); that the loop answers is the proof that it
// goes round (observe.go). [Config.Ending] hears that a job is about to end
// before anybody can see it, for what must follow from that even after a crash.
//
// # Reading on
//
// Begin with decide.go and its test, then loop.go, dispatch.go and send.go.
// Package watchtest has the suite that every Chat must pass, and Fake, a chat
// in memory that can be told to go wrong. The tests run in bubbles of
// testing/synctest: hours pass in milliseconds, and nothing sleeps. TestModel
// and TestEveryStep are the ones that look for a second send.
package watch
