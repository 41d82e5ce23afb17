package main

import (
	"archive/tar"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// archive writes a tar.gz whose files all belong to root and are of one time. What stands in it is
// in a folder with its name.
func (r *release) archive(name string, files []file) (err error) {
	out, err := os.Create(filepath.Join(r.out, name+".tar.gz"))
	if err != nil {
		return err
	}
	defer out.Close()
	z, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err != nil {
		return err
	}
	w := tar.NewWriter(z)
	if err := writeTar(w, r.at, in(name, files)); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for _, c := range []io.Closer{w, z, out} {
		if err := c.Close(); err != nil {
			return err
		}
	}
	return nil
}

// writeTar writes files by their names, and before them their folders.
func writeTar(w *tar.Writer, at time.Time, files []file) error {
	files = slices.SortedFunc(slices.Values(files), func(a, b file) int {
		return strings.Compare(a.path, b.path)
	})
	made := map[string]bool{".": true, "/": true}
	for _, f := range files {
		var above []string
		for dir := path.Dir(f.path); !made[dir]; dir = path.Dir(dir) {
			made[dir] = true
			above = append(above, dir)
		}
		made[f.path] = true
		for _, dir := range slices.Backward(above) {
			if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755,
				ModTime: at, Format: tar.FormatPAX}); err != nil {
				return err
			}
		}
		if err := addFile(w, at, f); err != nil {
			return err
		}
	}
	return nil
}

func addFile(w *tar.Writer, at time.Time, f file) error {
	header := &tar.Header{Typeflag: tar.TypeReg, Name: f.path, Mode: int64(f.mode.Perm()),
		Uid: f.user,
		Gid: f.user, ModTime: at, Format: tar.FormatPAX}
	if f.mode&fs.ModeSticky != 0 {
		header.Mode |= 0o1000
	}
	if f.mode.IsDir() {
		header.Typeflag, header.Name = tar.TypeDir, f.path+"/"
		return w.WriteHeader(header)
	}
	in, err := os.Open(f.from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	header.Size = info.Size()
	if err := w.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.Copy(w, in)
	return err
}
