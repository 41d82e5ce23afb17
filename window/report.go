package window

// Report counts what package building made of the frames it was given. Frames − Duplicates −
// Corrupt − MissingKey − Excess are the window's instants.
type Report struct {
	Frames     int
	Duplicates int // of an instant that another frame had given already
	Corrupt    int // could not be decoded
	MissingKey int // delta frames whose key frame was not among the frames
	Excess     int // beyond MaxInstants
}

// Lost returns how many frames say nothing in the window though they were sent.
func (r *Report) Lost() int { return r.Corrupt + r.MissingKey + r.Excess }
