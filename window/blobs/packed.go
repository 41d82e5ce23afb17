package blobs

// appendPacked appends numbers of width bits each, lowest bits first.
func appendPacked(dst []byte, list []uint64, width int) []byte {
	var acc uint64
	n := 0
	for _, v := range list {
		acc |= v << n
		for n += width; n >= 8; n -= 8 {
			dst = append(dst, byte(acc))
			acc >>= 8
		}
	}
	if n > 0 {
		dst = append(dst, byte(acc))
	}
	return dst
}
