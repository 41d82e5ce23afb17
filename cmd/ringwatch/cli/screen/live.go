package screen

import (
	"context"
	"errors"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
)

// Screen is what a live command shows: the first line, and a table whose first rows matter most.
type Screen struct{ Title, Text string }

// Live shows what ask says, again and again, until q.
func Live(ctx context.Context, where string, every time.Duration,
	ask func(context.Context) (Screen, error), options ...tea.ProgramOption) error {
	if every < 100*time.Millisecond {
		return exit.Usage(errors.New("--every must be at least 100ms, since values change every " +
			"few seconds only"))
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends a question under way when q is pressed
	// Signals end ctx. The program's own handler of them hands its message to a loop that ctx has
	// ended by then, and waits for ever.
	options = append(options, tea.WithContext(ctx), tea.WithoutSignalHandler())
	_, err := tea.NewProgram(&liveModel{ctx: ctx, ask: ask, every: every, where: where},
		options...).Run()
	if errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil {
		return nil
	}
	return err
}

// liveModel is a screen in bubbletea's words.
type liveModel struct {
	ctx           context.Context
	ask           func(context.Context) (Screen, error)
	every         time.Duration
	where         string
	shown         Screen
	err           error
	width, height int
}

type liveAnswer struct {
	Screen
	err error
}

type liveTick struct{}

func (m *liveModel) question() tea.Msg {
	s, err := m.ask(m.ctx)
	return liveAnswer{s, err}
}

// Init implements tea.Model.
func (m *liveModel) Init() tea.Cmd { return m.question }

// Update implements tea.Model.
func (m *liveModel) Update(message tea.Msg) (tea.Model, tea.Cmd) {
	switch message := message.(type) {
	case tea.KeyPressMsg:
		switch message.String() {
		case "q", "ctrl+c", "esc":
			return m, tea.Quit
		}
	case tea.WindowSizeMsg:
		m.width, m.height = message.Width, message.Height
	case liveTick:
		return m, m.question
	case liveAnswer:
		if m.err = message.err; m.err == nil {
			m.shown = message.Screen
		}
		return m, tea.Tick(m.every, func(time.Time) tea.Msg { return liveTick{} })
	}
	return m, nil
}

// View implements tea.Model.
func (m *liveModel) View() tea.View {
	lines := []string{strings.TrimSpace(m.shown.Title + "   q quits"), ""}
	switch {
	case m.err != nil:
		lines[1] = "The following is old: " + Plain(m.err.Error())
	case m.shown == Screen{}:
		lines[1] = "asking " + m.where
	}
	if m.shown.Text != "" {
		lines = append(lines, strings.Split(strings.TrimRight(m.shown.Text, "\n"), "\n")...)
	}
	if m.height > 0 && len(lines) > m.height {
		lines = lines[:m.height]
	}
	for i, line := range lines {
		if r := []rune(line); m.width > 0 && len(r) > m.width {
			lines[i] = string(r[:m.width])
		}
	}
	v := tea.NewView(strings.Join(lines, "\n"))
	v.AltScreen = true
	return v
}
