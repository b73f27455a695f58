package watch

import "watcher/state"

// happens leads to all that can happen in one state.
func (x *explorer) happens(at int32) {
	for i := range programs {
		x.program(at, i)
	}
	x.site(at)
	x.passes(at)
	if x.worlds[at].left.cuts > 0 {
		x.power(at)
	}
}

// program lets one program start, go on, or be killed.
func (x *explorer) program(at int32, i int) {
	w := x.worlds[at]
	p, other := &w.progs[i], w.progs[1-i]
	if !p.alive {
		if x.rivals || !other.alive || x.missing == "profile lock" {
			p.alive, p.mem = true, x.memory(newborn)
			x.reached(at, w, false, deed{who: programs[i], does: "starts"})
		}
		return
	}
	if w.left.kills > 0 {
		x.kill(at, i)
	}
	if p.at == nil {
		m := *p.mem
		m.expired = w.day
		p.mem = nil
		x.came(at, w, i, x.turn(x.owner(i), m, w.disk.now()), deed{who: programs[i], does: "takes a turn"})
		return
	}
	switch p.at.question.what {
	case state.StepFolder:
		x.folder(at, i)
	case askChat:
		x.newChat(at, i)
	case askRelease:
		x.release(at, i)
	case askOutcome:
		x.outcome(at, i)
	case askRead:
		x.read(at, i)
	case askFind:
		x.finds(at, i)
	case state.StepSync: // of a marker that is written in place
		x.answers(at, i, ansGo, 0, 0, func(w *world) { w.disk.synced |= 1 << w.disk.now()[nameMarker] })
		x.answers(at, i, ansFail, 0, 1)
	default:
		x.answers(at, i, ansGo, 0, 0)
		x.answers(at, i, ansFail, 0, 1)
	}
}

// answers brings a program's turn on by one answer. faults is what that takes
// of the budget; change alters the world at the same moment.
func (x *explorer) answers(at int32, i int, a answer, chat int8, faults int8, change ...func(*world)) {
	w := x.worlds[at]
	if w.left.faults -= faults; w.left.faults < 0 {
		return
	}
	p := &w.progs[i]
	q := p.at.question
	now := w.disk.now()
	next := x.advance(p.at, event{ticks: p.ticks, answer: a, chat: chat, names: now})
	w.disk.note(now, next.after, p.at.written && !p.at.inPlace && x.missing != "file fsync")
	for _, f := range change {
		f(&w)
	}
	x.came(at, w, i, next, deed{programs[i], q.what, q.address, a.String()})
}

// came is a program at another point of its turn, or at the end of it.
func (x *explorer) came(at int32, w world, i int, to *point, how deed) {
	p := &w.progs[i]
	if text := to.after[nameMarker]; to.believed && x.missing != "resync" && text != 0 {
		w.disk.synced |= 1 << text
	}
	p.at, p.ticks = to, 0
	if to.question.what == askOver {
		*p = process{alive: true, mem: x.memory(to.end), chat: -1}
	}
	x.reached(at, w, w.left != x.worlds[at].left, how)
}

func (x *explorer) owner(i int) int8 {
	if x.rivals {
		return int8(i)
	}
	return 0
}

var programs = [2]string{"A", "B"}

// folder is an fsync of the folder.
func (x *explorer) folder(at int32, i int) {
	believes := x.worlds[at].progs[i].at.believed
	x.answers(at, i, ansGo, 0, 0, func(w *world) {
		if x.missing == "folder fsync" && !believes || x.missing == "resync" && believes {
			return
		}
		w.disk.sync()
	})
	x.answers(at, i, ansFail, 0, 1)
}

func (x *explorer) newChat(at int32, i int) {
	n := x.worlds[at].made
	if int(n) == maxChats {
		panic("more chats than the model has room for")
	}
	x.answers(at, i, ansGo, n, 0, func(w *world) {
		w.made++
		w.day = false
		w.progs[i].chat = n
	})
	x.answers(at, i, ansFail, 0, 1)
}

// release lets a held request go, unless the commit is too old. Then a person,
// too, may have taken the program for dead.
func (x *explorer) release(at int32, i int) {
	w := x.worlds[at]
	p := w.progs[i]
	if p.ticks > 0 && w.left.hands > 0 {
		w.left.hands--
		gone := w.disk.now()
		gone[nameMarker] = 0
		w.disk = disk{durable: gone, synced: w.disk.synced}
		x.reached(at, w, true, deed{who: "a person", does: "takes the marker away"})
	}
	if p.ticks > 0 && x.missing != "limit" {
		x.answers(at, i, ansSlow, 0, 0)
		return
	}
	early := !x.kept(w.disk, p.chat, nameMarker, 1)
	x.answers(at, i, ansGo, 0, 0, func(w *world) { w.chats[p.chat] = chatState{way: wayFlying, attached: true, early: early} })
}

// outcome is the driver's word on a request that was let go. The browser that
// could repeat it is ended then.
func (x *explorer) outcome(at int32, i int) {
	n := x.worlds[at].progs[i].chat
	c := x.worlds[at].chats[n]
	over := func(way way, taken int8) func(*world) {
		return func(w *world) { w.chats[n] = chatState{way: way, taken: taken} }
	}
	cost := int8(1)
	if c.way == wayLost {
		cost = 0
	}
	x.answers(at, i, ansBroken, 0, cost, over(c.way, c.taken))
	if x.missing == "one connection" && c.taken > 0 {
		x.answers(at, i, ansBroken, 0, 1, over(c.way, c.taken+1)) // the browser sent it again by itself
	}
	switch c.way {
	case wayFlying:
		x.answers(at, i, ansUnsent, 0, 1, over(wayLost, 0))
		x.answers(at, i, ansRefuse, 0, 1, over(wayLost, 0))
	case wayHidden, waySeen:
		x.answers(at, i, ansGo, 0, 0, over(c.way, c.taken))
		x.answers(at, i, ansRefuse, 0, 1, func(w *world) { // and taken all the same: it shows within the gap
			w.chats[n] = chatState{way: c.way, taken: c.taken, age: graceTicks - 1}
		})
	}
}

func (x *explorer) read(at int32, i int) {
	if x.shows(at, i) {
		x.answers(at, i, ansTaken, 0, 0)
		x.answers(at, i, ansDone, 0, 0)
	} else {
		x.answers(at, i, ansEmpty, 0, 0)
	}
	x.answers(at, i, ansFail, 0, 0)
}

// shows reports whether the chat that is read shows our message. In one that is
// continued any attempt's is in the same place.
func (x *explorer) shows(at int32, i int) bool {
	w := x.worlds[at]
	if x.follows {
		for _, c := range w.chats {
			if c.way == waySeen {
				return true
			}
		}
		return false
	}
	return w.chats[chatOf(w.progs[i].at.question.address)].way == waySeen
}

func (x *explorer) finds(at int32, i int) {
	for n, c := range x.worlds[at].chats {
		if c.way == waySeen {
			x.answers(at, i, ansFound, int8(n), 0)
			return
		}
	}
	x.answers(at, i, ansEmpty, 0, 0)
}

// site lets what is on its way arrive, get lost, or show.
func (x *explorer) site(at int32) {
	for n, c := range x.worlds[at].chats {
		w := x.worlds[at]
		set := func(way way, taken int8, what string) {
			w := w
			w.chats[n].way, w.chats[n].taken = way, c.taken+taken
			if way == wayLost {
				w.left.faults--
			}
			x.reached(at, w, way == wayLost, deed{"what was sent", what, addressOf(int8(n)), ""})
		}
		switch c.way {
		case wayFlying:
			set(waySeen, 1, "arrives")
			set(wayHidden, 1, "arrives and does not show")
			if w.left.faults > 0 {
				set(wayLost, 0, "gets lost")
			}
		case wayHidden:
			set(waySeen, 0, "shows")
		}
	}
}

// passes lets a tick pass, or a day. Programs may dawdle where they wait for
// something; all else is instant.
func (x *explorer) passes(at int32) {
	w := x.worlds[at]
	open := false
	for n := range w.chats {
		c := &w.chats[n]
		if c.way != wayFlying && c.way != wayHidden {
			continue
		}
		open = true
		if c.attached {
			continue
		}
		if c.age == graceTicks-1 && x.missing != "promise" {
			return // it has to arrive, to get lost, or to show first
		}
		c.age = min(c.age+1, graceTicks)
	}
	idle := true
	for i := range w.progs {
		p := &w.progs[i]
		switch {
		case p.at == nil && p.alive:
			p.mem = x.memory(p.mem.aged(1))
		case p.at != nil:
			idle = false
			switch p.at.question.what {
			case askRead:
				p.ticks = min(p.ticks+1, graceTicks)
			case askRelease: // stopped, and woken up: a fault
				if p.ticks == 0 {
					w.left.faults--
				}
				p.ticks = 1
			case askOutcome: // what is measured begins afterwards
			default:
				return
			}
		}
	}
	if w.left.faults < 0 {
		return
	}
	x.reached(at, w, w.left != x.worlds[at].left, deed{who: "time passes"})
	if w.left.days > 0 && !open && idle {
		w.day = true
		w.left.days--
		x.reached(at, w, true, deed{who: "a day passes"})
	}
}

// dies is what the end of a program and of its browser does.
func (x *explorer) dies(w *world, i int) {
	if n := w.progs[i].chat; n >= 0 {
		c := &w.chats[n]
		c.attached, c.age = false, 0
		if x.missing == "browser ends" && c.way == wayNone && w.progs[i].at.question.what != askOver {
			c.way = wayFlying // what was held is let go when nobody holds it
		}
	}
	w.progs[i] = dead
}

func (x *explorer) kill(at int32, i int) {
	w := x.worlds[at]
	w.left.kills--
	x.dies(&w, i)
	x.reached(at, w, true, deed{who: programs[i], does: "is killed"})
}

// power takes the power away: every program ends, and of the folder stays what
// is durable and any part of the rest.
func (x *explorer) power(at int32) {
	for _, left := range x.cuts(x.worlds[at].disk) {
		w := x.worlds[at]
		w.left.cuts--
		for i := range w.progs {
			x.dies(&w, i)
		}
		w.disk = disk{durable: left}
		for _, text := range left {
			w.disk.synced |= 1 << text
		}
		x.reached(at, w, true, deed{who: "the power fails"})
	}
}
