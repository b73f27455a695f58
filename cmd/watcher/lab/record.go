//go:build crash

package lab

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// Write is one write that reached a recorded disk, or, without data, a flush:
// all before it is safe from then on.
type Write struct {
	Offset int64
	Data   []byte
	// World is what the recorder's caller said of the world outside the disk,
	// just before this write.
	World int
}

// History is what a disk held, and what was written to it since.
type History struct {
	Base []byte
	Log  []Write
	// Sector is what the disk writes whole or not at all, in bytes.
	Sector int
}

// Recorder is a disk that remembers every write and every flush, in order.
type Recorder struct {
	Disk
	world  func() int
	server *fuse.Server

	mu    sync.Mutex
	data  []byte
	base  []byte
	log   []Write
	fails func(n int) bool
}

// Record makes a recorded disk with a mounted file system on it; world numbers
// the states of the world outside.
func Record(dir, kind string, world func() int) (*Recorder, error) {
	r := &Recorder{world: world, data: make([]byte, Sizes[kind])}
	at := filepath.Join(dir, "recorder")
	r.Disk = Disk{Image: filepath.Join(at, "disk"), Mount: filepath.Join(dir, "recorded"), kind: kind}
	for _, d := range []string{at, r.Mount} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return nil, err
		}
	}
	root := &fs.Inode{}
	var err error
	r.server, err = fs.Mount(at, root, &fs.Options{
		MountOptions: fuse.MountOptions{DirectMount: true, FsName: "recorder"},
		OnAdd: func(ctx context.Context) {
			root.AddChild("disk", root.NewPersistentInode(ctx, &recorded{r: r}, fs.StableAttr{Mode: fuse.S_IFREG}), true)
		},
	})
	if err != nil {
		return nil, err
	}
	// mkfs would make the file anew, which this one cannot bear.
	if err = r.format(dir); err == nil {
		err = r.Up()
	}
	if err != nil {
		r.server.Unmount()
		return nil, err
	}
	return r, nil
}

// format makes the file system beside the disk and copies it.
func (r *Recorder) format(dir string) error {
	image := filepath.Join(dir, "fresh")
	if err := Format(image, r.kind); err != nil {
		return err
	}
	b, err := os.ReadFile(image)
	if err != nil {
		return err
	}
	copy(r.data, b)
	return os.Remove(image)
}

// Close unmounts the file system and ends the recorder.
func (r *Recorder) Close() error {
	if err := r.Down(); err != nil {
		return err
	}
	return r.End()
}

// End ends the recorder of a file system that is unmounted.
func (r *Recorder) End() error { return r.server.Unmount() }

// Begin forgets what was written so far, after making it durable.
func (r *Recorder) Begin() error {
	if err := r.Sync(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.base, r.log = slices.Clone(r.data), nil
	return nil
}

// Fail makes those writes and flushes fail with EIO, numbered from 0 since
// Begin, that fails names: the disk then holds nothing of them.
func (r *Recorder) Fail(fails func(n int) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fails = fails
}

// Now writes to path what the disk holds.
func (r *Recorder) Now(path string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return writeSparse(path, r.data)
}

// take notes a write or a flush, unless it fails.
func (r *Recorder) take(w Write) syscall.Errno {
	w.World = r.world()
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.log)
	r.log = append(r.log, w)
	if r.fails != nil && r.fails(n) {
		return syscall.EIO
	}
	copy(r.data[w.Offset:], w.Data)
	return 0
}

// History is all that was written since Begin.
func (r *Recorder) History() History {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := History{Base: r.base, Log: slices.Clone(r.log), Sector: 512}
	if r.kind == "btrfs" {
		h.Sector = 4096 // it does not mount with a superblock that is torn
	}
	return h
}

// Image writes to path what a disk holds whose power was cut just before write
// n: everything up to the last flush, and of what came after it those sectors
// that keep says reached the disk.
func (h History) Image(path string, n int, keep func() bool) error {
	disk := slices.Clone(h.Base)
	safe := 0
	for i, w := range h.Log[:n] {
		if w.Data == nil {
			safe = i + 1
		}
	}
	for i, w := range h.Log[:n] {
		for at := 0; at < len(w.Data); at += h.Sector {
			if i < safe || keep() {
				copy(disk[w.Offset+int64(at):], w.Data[at:min(at+h.Sector, len(w.Data))])
			}
		}
	}
	return writeSparse(path, disk)
}

// writeSparse writes a file without its empty parts.
func writeSparse(path string, data []byte) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Truncate(int64(len(data))); err != nil {
		return err
	}
	const part = 64 << 10
	empty := make([]byte, part)
	for at := 0; at < len(data); at += part {
		chunk := data[at:min(at+part, len(data))]
		if slices.Equal(chunk, empty[:len(chunk)]) {
			continue
		}
		if _, err := f.WriteAt(chunk, int64(at)); err != nil {
			return err
		}
	}
	return nil
}

// OpenImage is the file system in an image that is there already.
func OpenImage(image, mount, kind string) (*Disk, error) {
	d := &Disk{Image: image, Mount: mount, kind: kind}
	if err := os.MkdirAll(mount, 0o755); err != nil {
		return nil, err
	}
	return d, d.Up()
}

// recorded is the disk as a file.
type recorded struct {
	fs.Inode
	r *Recorder
}

var (
	_ fs.NodeOpener    = (*recorded)(nil)
	_ fs.NodeGetattrer = (*recorded)(nil)
	_ fs.NodeReader    = (*recorded)(nil)
	_ fs.NodeWriter    = (*recorded)(nil)
	_ fs.NodeFsyncer   = (*recorded)(nil)
)

func (f *recorded) Open(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	return nil, fuse.FOPEN_DIRECT_IO, 0
}

func (f *recorded) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	out.Mode, out.Size = 0o600, uint64(len(f.r.data))
	return 0
}

func (f *recorded) Read(_ context.Context, _ fs.FileHandle, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	f.r.mu.Lock()
	defer f.r.mu.Unlock()
	n := copy(dest, f.r.data[min(off, int64(len(f.r.data))):])
	return fuse.ReadResultData(slices.Clone(dest[:n])), 0
}

func (f *recorded) Write(_ context.Context, _ fs.FileHandle, data []byte, off int64) (uint32, syscall.Errno) {
	if errno := f.r.take(Write{Offset: off, Data: slices.Clone(data)}); errno != 0 {
		return 0, errno
	}
	return uint32(len(data)), 0
}

func (f *recorded) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	return f.r.take(Write{})
}
