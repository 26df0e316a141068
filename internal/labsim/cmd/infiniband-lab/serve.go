package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/control"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/recording"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/twin"
)

// source is the lab that somebody asks for: one of ours by its name, or a recording.
type source struct {
	name      string
	images    []string // files of firmware
	oneSwitch bool     // all ports without a known cable are on one
	realTool  bool     // the mstflint of this machine answers for the hosts
}

func (s source) isRecording() bool { return strings.HasSuffix(s.name, ".tar.gz") }

// open starts the lab and writes what an operator needs into its directory. It says what a twin does not have.
func (s source) open(ctx context.Context, dir string, out io.Writer) (l *labs.Lab, err error) {
	tool, err := s.tool(ctx, dir+"-tool")
	if err != nil {
		return nil, fmt.Errorf("-real-tool: %w", err)
	}
	if s.isRecording() {
		l, err = s.openTwin(dir, tool, out)
	} else {
		hosts, ok := labs.Named[s.name]
		switch {
		case !ok:
			return nil, fmt.Errorf("no lab %q; there are %s, and the files of recordings, which end in .tar.gz", s.name,
				strings.Join(labs.Names(), ", "))
		case len(s.images) > 0 || s.oneSwitch:
			return nil, errors.New("-image and -one-switch are for the file of a recording")
		}
		var options labsim.Options
		made := hosts()
		if err = tool.answerFor(made, &options, out); err == nil {
			l, err = labs.Start(dir, options, made...)
		}
	}
	if err != nil {
		return nil, err
	}
	if err = control.WriteFiles(l); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

func (s source) openTwin(dir string, tool *realTool, out io.Writer) (*labs.Lab, error) {
	rec, err := recording.Open(s.name)
	if err != nil {
		return nil, err
	}
	var images [][]byte
	for _, file := range s.images {
		data, readErr := os.ReadFile(file)
		if readErr != nil {
			return nil, readErr
		}
		images = append(images, data)
	}
	made, err := twin.Of(rec, images...)
	if err != nil {
		return nil, err
	}
	made.OneSwitch = s.oneSwitch
	var options labsim.Options
	if err = tool.answerFor(made.Hosts, &options, out); err != nil {
		return nil, err
	}
	l, err := made.Start(dir, options)
	if err != nil {
		return nil, err
	}
	if !rec.OwnNames {
		fmt.Fprintf(out, "%s.names.json is not there: hosts have the names and addresses of the recording.\n", s.name)
	}
	for _, line := range made.Missing {
		fmt.Fprintln(out, line)
	}
	return l, nil
}

// labDirs is how the directories of running labs are called, below the one for temporary files.
const labDirs = "infiniband-lab-"

// serve keeps a lab running until the context ends.
func serve(ctx context.Context, from source, h hints, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", labDirs)
	if err != nil {
		return err
	}
	// Keys and state of a lab that is gone are of no use to anybody.
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if h.provider != "" {
		if h.rc, err = control.WriteMirror(dir, h.provider); err != nil {
			return err
		}
	}
	l, err := from.open(ctx, filepath.Join(dir, "lab"), out)
	if err != nil {
		return fmt.Errorf("start the lab: %w", err)
	}
	defer l.Close()
	server, err := control.Serve(ctx, l)
	if err != nil {
		return err
	}
	defer server.Close()
	if err = h.complete(); err != nil {
		return err
	}
	fmt.Fprint(out, howTo(l, from, h))
	<-ctx.Done()
	fmt.Fprintln(out, "\nThe lab has stopped.")
	return nil
}
