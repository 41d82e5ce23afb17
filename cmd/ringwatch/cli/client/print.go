package client

import (
	"context"
	"io"
	"net/url"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/screen"
)

// PrintJSON prints an answer as it came, but for what a terminal would obey.
func PrintJSON(ctx context.Context, out io.Writer, api *Client, path string,
	query url.Values) error {
	body, err := api.Get(ctx, path, query)
	if err != nil {
		return err
	}
	_, err = out.Write(screen.PlainJSON(body))
	return err
}
