//go:build reallab && linux

package acctest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// repack makes a repository of installed packages, whose scripts wait where a file tells
// them to, and removes the packages: a machine of the lab reaches no mirror. The file is on
// a file system that a power cut empties, and nothing here writes the disk out: what of an
// interrupted installation is on it is what dpkg itself has secured.
const repack = `set -e
top=/srv/lab
mkdir -p $top
for p in opensm libosmvendor5 qperf; do
	d=$top/$p
	mkdir -p $d/DEBIAN
	dpkg -L $p | while read -r f; do if [ -e "$f" ] && [ ! -d "$f" ]; then echo "$f"; fi; done | tar -cPT - | tar -xC $d
	dpkg-query -s $p | awk '/^Conffiles:/ {skip=1; next} /^ / {if (!skip) print; next} {skip=0} !/^(Status|Config-Version):/' >$d/DEBIAN/control
	info=/var/lib/dpkg/info/$p
	[ -e $info.list ] || info=$info:amd64
	for f in prerm postrm conffiles triggers shlibs symbols md5sums; do [ ! -e $info.$f ] || cp $info.$f $d/DEBIAN/$f; done
	for step in preinst postinst; do
		{ echo '#!/bin/sh'
		echo "if [ -e /run/lab-$step-$p ]; then echo reallab: $step of $p >/dev/console; sleep 600; fi"
		if [ -e $info.$step ]; then sed 1d $info.$step; fi; } >$d/DEBIAN/$step
		chmod 755 $d/DEBIAN/$step
	done
	dpkg-deb -b $d $top/$p.deb >/dev/null
	{ cat $d/DEBIAN/control; echo "Filename: ./$p.deb"; echo "Size: $(stat -c %s $top/$p.deb)"
	echo "SHA256: $(sha256sum $top/$p.deb | cut -d' ' -f1)"; echo; } >>$top/Packages
done
rm -rf /etc/apt/sources.list.d/*
echo 'deb [trusted=yes] file:/srv/lab ./' >/etc/apt/sources.list
apt-get update >/dev/null
dpkg --purge opensm libosmvendor5 qperf
sync`

// packageCuts are the scripts in which the power goes. At preinst a package is half
// installed, at postinst half configured. opensm depends on libosmvendor5.
var packageCuts = []string{"preinst of libosmvendor5", "preinst of opensm", "postinst of opensm"}

// packageLab is a host that gets a subnet manager from a repository of its own.
type packageLab struct {
	*Lab
	t    *testing.T
	loan *kernelLoan
	ws   *Workspace
	cfg  Config
}

// TestKernels_power_cut_package takes the power from a machine while dpkg unpacks and
// configures what an apply installs. The next plan says that it is not there, and the next
// apply ends the work. It leaves alone what somebody else has begun, and says what to type.
func TestKernels_power_cut_package(t *testing.T) {
	if !OnTestbed() {
		t.Skip("needs machines with kernels of their own: INFINIBAND_LAB=reallab")
	}
	t.Parallel()
	h := labs.Server(theHost, labsim.Debian12, "192.0.2.20", 0)
	h.Cmdline = portsInfiniBand
	w := &packageLab{Lab: Start(t, Options{Hosts: []labs.Host{h}}), t: t}
	w.noFlash()
	loan, ok := w.testbed.(*kernelLoan)
	if !ok {
		t.Fatalf("the lab stands on %T", w.testbed)
	}
	w.loan, w.ws = loan, w.Workspace()
	w.cfg = Config{{Type: "infiniband_opensm", Name: "it", Attrs: map[string]any{"host": theHost, "port_guid": stackPort}}}
	w.Run(theHost, repack)
	for _, cut := range packageCuts {
		w.cutIn(cut)
	}
	w.othersCut()
}

// cutIn takes the power in a script of a package, and ends the work by another apply.
func (w *packageLab) cutIn(cut string) {
	w.t.Helper()
	plan := cleanPlan(w.t, w.ws, w.cfg)
	back := w.cutAt(cut)
	diags, err := w.ws.Apply(context.Background(), plan)
	if err != nil || !diags.HasError() {
		w.t.Fatalf("%s: the apply that lost its host: %v\n%s", cut, err, diags)
	}
	if err := <-back; err != nil {
		w.t.Fatal(err)
	}
	w.t.Logf("after the cut in %s dpkg says:\n%s", cut, w.Run(theHost, "dpkg-query -W -f '${db:Status-Abbrev}|${Package}\\n' | "+
		"grep -v '^[ir][ic] ' || true; ls /var/lib/dpkg/updates"))
	if out, status := w.Try(theHost, "pgrep -a opensm"); status == 0 {
		w.t.Errorf("after the cut in %s a subnet manager runs: %s", cut, out)
	}
	mustApply(w.t, w.ws, w.cfg)
	emptyPlan(w.t, w.ws, w.cfg)
	w.complete()
	mustApply(w.t, w.ws, nil)
	w.Run(theHost, "dpkg --purge opensm libosmvendor5")
}

// complete: no package is left half way.
func (w *packageLab) complete() {
	w.t.Helper()
	if out := w.Run(theHost, "dpkg --audit; ls -A /var/lib/dpkg/updates"); out != "" {
		w.t.Errorf("in the end dpkg says:\n%s", out)
	}
}

// othersCut: somebody installed a package when the power went. The apply refuses, and what
// it says to type helps.
func (w *packageLab) othersCut() {
	w.t.Helper()
	back := w.cutAt("postinst of qperf")
	_, _ = w.Try(theHost, "apt-get install -y qperf")
	if err := <-back; err != nil {
		w.t.Fatal(err)
	}
	diags, err := w.ws.Apply(context.Background(), cleanPlan(w.t, w.ws, w.cfg))
	if err != nil {
		w.t.Fatal(err)
	}
	found := diags.Errors().Find("It has left qperf (half configured).", "This apply installs opensm and what that needs")
	if len(found) != 1 {
		w.t.Fatalf("the apply on a host with somebody else's package half way:\n%s", diags)
	}
	w.t.Logf("the refusal:\n%s", found[0].Text())
	for line := range strings.Lines(found[0].Detail) {
		if command, ok := strings.CutPrefix(line, "    sudo "); ok {
			w.t.Logf("%s%s", command, w.Run(theHost, command))
		}
	}
	mustApply(w.t, w.ws, w.cfg)
	emptyPlan(w.t, w.ws, w.cfg)
	w.complete()
}

// cutAt has the power go when a script is reached, and come back.
func (w *packageLab) cutAt(cut string) <-chan error {
	w.t.Helper()
	step, name, _ := strings.Cut(cut, " of ")
	w.Run(theHost, "touch /run/lab-"+step+"-"+name)
	printed := strings.Count(w.loan.Machines[theHost].Console(1000), "reallab: "+cut)
	back := make(chan error, 1)
	go func() {
		err := w.loan.awaitConsole(theHost, "reallab: "+cut, printed+1)
		back <- errors.Join(err, w.loan.Restart(theHost))
	}()
	return back
}

// awaitConsole waits until a machine has printed a text so many times.
func (l *kernelLoan) awaitConsole(host, text string, times int) error {
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if strings.Count(l.Machines[host].Console(1000), text) >= times {
			return nil
		}
	}
	return fmt.Errorf("%s does not print %q:\n%s", host, text, l.Machines[host].Console(30))
}
