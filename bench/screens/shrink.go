package main

import (
	"cmp"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"
)

// shrink writes the pictures of a folder with 256 colours each, which takes a third of the bytes.
// The console has few colours, and the edges of its letters are near them.
func shrink(folder string) error {
	files, err := filepath.Glob(filepath.Join(folder, "*.png"))
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := shrinkFile(file); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}

func shrinkFile(file string) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	m, err := png.Decode(in)
	in.Close()
	if err != nil {
		return err
	}
	if _, done := m.(*image.Paletted); done {
		return nil
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(out, paletted(m)); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}

// paletted returns the picture in the 256 colours that it has most of. Other colours become the
// nearest of these.
func paletted(m image.Image) *image.Paletted {
	count := map[color.Color]int{}
	b := m.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			count[m.At(x, y)]++
		}
	}
	var colours color.Palette
	for c := range count {
		colours = append(colours, c)
	}
	slices.SortFunc(colours, func(a, b color.Color) int {
		return cmp.Or(count[b]-count[a], cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)))
	})
	chosen := colours[:min(len(colours), 256)]
	place := make(map[color.Color]uint8, len(colours))
	for _, c := range colours {
		place[c] = uint8(chosen.Index(c))
	}
	p := image.NewPaletted(b, chosen)
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			p.SetColorIndex(x, y, place[m.At(x, y)])
		}
	}
	return p
}
