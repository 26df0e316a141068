//go:build reallab && linux

package reallab_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/machine"
)

// connectX4Of is a machine with a ConnectX-4, whose port speaks InfiniBand as it is bought.
func connectX4Of(name string, i int) reallab.Host {
	h := reallab.NewConnectX4Host(name, i, 1)
	h.Suite = machine.Bookworm
	return h
}

// share is an Ethernet between two machines, through which NFS goes over RDMA. The emulated card
// has neither atomics nor keys that the other end takes back, so that the kernel's client and server
// do not use its own RDMA device: they use one that the kernel makes (rdma_rxe) of a tunnel through the
// InfiniBand interface. The RDMA connection, the server and the client are the kernel's own.
const share = `modprobe -a mlx5_ib ib_umad ib_ipoib rdma_rxe
until [ -e /sys/class/net/ibp1s0 ]; do sleep 0.2; done
ip addr add 172.16.0.%[1]d/24 dev ibp1s0
ip link set ibp1s0 up
ip link add share type vxlan id 7 dev ibp1s0 local 172.16.0.%[1]d remote 172.16.0.%[2]d dstport 4789
ip addr add 172.17.0.%[1]d/24 dev share
ip link set share up
rdma link add rxe0 type rxe netdev share`

// storage are a server of NFS and its client, of a bench.
type storage struct{ *bench }

const server, client = "server", "client"

// TestRealKernels_nfs: infiniband_rdma_ready tells of a kernel's NFS server whether it listens for RDMA,
// and of the other kernel's mount whether it goes over RDMA. What it advises leads from one to the other.
func TestRealKernels_nfs(t *testing.T) {
	t.Parallel()
	s := storage{benchOf(t, connectX4Of(server, 0), connectX4Of(client, 1))}
	s.on(server, fmt.Sprintf(share, 1, 2)+"\nsystemd-run -q opensm\nmkdir /srv/lab\necho '/srv/lab *(rw,no_root_squash)' >/etc/exports")
	s.on(client, fmt.Sprintf(share, 2, 1)+"\nfor i in $(seq 120); do ping -c 1 -W 1 172.17.0.1 >/dev/null && exit; done; exit 1")

	s.says(server, "nfs_server", "not_serving: The NFS server of server does not run.", map[string]any{"nfs_server": false})
	s.says(client, "nfs_client", "no_mount: client has mounted no NFS over InfiniBand.", nil)

	s.on(server, "systemctl start nfs-server")
	s.says(server, "nfs_server", "not_listening: The NFS server of server does not listen for RDMA: /proc/fs/nfsd/portlist has "+
		`no line "rdma 20049".`, map[string]any{"nfs_server": true, "nfs_rdma_port": "0"})
	if out, err := s.lab.Run(t.Context(), client, "timeout 10 mount -o proto=rdma,port=20049,retry=0 172.17.0.1:/srv/lab /mnt"); err == nil {
		t.Errorf("the server takes a mount over RDMA before it listens: %s", out)
	}
	s.on(client, "mount -o proto=tcp 172.16.0.1:/srv/lab /mnt && echo tcp >/mnt/file")
	s.says(client, "nfs_client", "mount: nfs4 172.16.0.1:/srv/lab on /mnt goes over tcp on ibp1s0. Mount it with the options "+
		"proto=rdma,port=20049; its server must listen there.", nil)
	s.mounted("172.16.0.1:/srv/lab", "tcp", "ibp1s0", false)

	// What the two problems say.
	s.on(server, `printf '[nfsd]\nrdma=y\nrdma-port=20049\n' >>/etc/nfs.conf && systemctl restart nfs-server`)
	s.says(server, "nfs_server", "", map[string]any{"nfs_server": true, "nfs_rdma_port": "20049"})
	s.on(client, "umount /mnt && mount -o proto=rdma,port=20049 172.17.0.1:/srv/lab /mnt")
	s.says(client, "nfs_client", "", nil)
	s.mounted("172.17.0.1:/srv/lab", "rdma", nil, true) // the kernel does not name the interface below a tunnel

	s.on(client, "head -c 2000000 /dev/urandom >/mnt/file && sync /mnt/file && echo 3 >/proc/sys/vm/drop_caches")
	if a, b := s.on(client, "sha256sum </mnt/file"), s.on(server, "sha256sum </srv/lab/file"); a != b {
		t.Errorf("the client reads %s of what the server has as %s", a, b)
	}
	if out := s.on(server, "ss -tnH state established sport = :2049"); strings.Contains(out, "172.1") {
		t.Errorf("the client is connected by TCP, too: %s", out)
	}
	s.on(server, "systemctl stop nfs-server")
	s.says(server, "nfs_server", "not_serving: The NFS server of server does not run.", map[string]any{"nfs_rdma_port": "0"})
}

// ready reads the data source.
func (s storage) ready(host, purpose string) map[string]any {
	s.Helper()
	v, diags, err := s.ws.Data(context.Background(), "infiniband_rdma_ready", map[string]any{"host": host, "purposes": []any{purpose}})
	all, is := v.(map[string]any)
	if err != nil || diags.HasError() || !is {
		s.Fatalf("%v %v %v", v, diags, err)
	}
	return all
}

// says compares problems and values with what they are to be. A host with a problem is not ready.
func (s storage) says(host, purpose, problem string, values map[string]any) {
	s.Helper()
	v := s.ready(host, purpose)
	var said []string
	list, _ := v["problems"].([]any)
	for _, p := range list {
		m, _ := p.(map[string]any)
		said = append(said, fmt.Sprintf("%s: %s", m["kind"], m["message"]))
	}
	all := strings.Join(said, "\n")
	if v["ready"] != (problem == "") || !strings.HasPrefix(all, problem) || len(said) > 1 || problem == "" && all != "" {
		s.Errorf("%s for %s: ready is %v, and it says\n%s\nwant %s", host, purpose, v["ready"], all, problem)
	}
	for name, want := range values {
		if fmt.Sprint(v[name]) != fmt.Sprint(want) {
			s.Errorf("%s: %s is %v, want %v", host, name, v[name], want)
		}
	}
}

// mounted compares the only mount of the client.
func (s storage) mounted(source, protocol string, netdev any, rdma bool) {
	s.Helper()
	list, _ := s.ready(client, "nfs_client")["mounts"].([]any)
	want := map[string]any{"source": source, "directory": "/mnt", "interface": netdev, "protocol": protocol, "rdma": rdma}
	if len(list) != 1 || fmt.Sprint(list[0]) != fmt.Sprint(want) {
		s.Errorf("the mounts are %v, want %v", list, want)
	}
}
