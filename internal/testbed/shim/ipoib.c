/*
 * Shows some veth interfaces of a host of the testbed as what they stand for.
 *
 * The machine that runs the testbed has no InfiniBand, and its kernel need not
 * know it. Programs of a host see interfaces in two places: sysfs, which the
 * testbed serves, and netlink, which this library rewrites between the kernel and
 * every program of the host (it is in /etc/ld.so.preload). What an interface
 * stands for is its alias, so that the kernel tells it with the interface itself:
 *
 *   testbed ipoib HARDWARE_ADDRESS MODE    an interface of a port, ib_ipoib
 *   testbed ether                          an Ethernet card, igb
 *
 * It refuses an MTU as the kernel's ib_ipoib does, and must decide nothing else.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <unistd.h>

/* Of net/if.h and net/if_arp.h, which do not go with the kernel's headers. */
char *if_indextoname(unsigned index, char *name);
enum { ARPHRD_INFINIBAND = 32 };

enum {
	ADDRESS = 20,       /* bytes of an IPoIB hardware address */
	LEAST_MTU = 72,     /* in datagram mode */
	GROUP_MTU = 2044,   /* of a broadcast group for packets of 2048 bytes */
	PORT_MTU = 4092,    /* of a port for packets of 4096 bytes */
	CONNECTED_MTU = 65520,
	MESSAGES = 1 << 17, /* no read of netlink is longer than 32 KiB */
};

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* guise is what an interface stands for. */
struct guise {
	int ipoib, ether, connected;
	unsigned char address[ADDRESS];
};

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int parse(const char *alias, struct guise *g)
{
	static const char ipoib[] = "testbed ipoib ", ether[] = "testbed ether";

	memset(g, 0, sizeof *g);
	if (!strncmp(alias, ether, sizeof ether - 1))
		return g->ether = 1;
	if (strncmp(alias, ipoib, sizeof ipoib - 1))
		return 0;
	alias += sizeof ipoib - 1;
	for (int i = 0; i < ADDRESS; i++, alias += 2) {
		int high = digit(alias[0]), low = high < 0 ? -1 : digit(alias[1]);

		if (low < 0)
			return 0;
		g->address[i] = high << 4 | low;
	}
	g->connected = !strncmp(alias, " connected", 10);
	return g->ipoib = 1;
}

/* named reads the guise of an interface from sysfs. */
static int named(const char *name, struct guise *g)
{
	char path[64 + IFNAMSIZ], alias[256];
	int fd, n;

	snprintf(path, sizeof path, "/sys/class/net/%.15s/ifalias", name);
	if ((fd = open(path, O_RDONLY | O_CLOEXEC)) < 0)
		return 0;
	n = read(fd, alias, sizeof alias - 1);
	close(fd);
	if (n <= 0)
		return 0;
	alias[n] = 0;
	return parse(alias, g);
}

static int route_socket(int fd)
{
	int saved = errno, domain = 0, protocol = -1;
	socklen_t n = sizeof domain;
	int is = !getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &n) && domain == AF_NETLINK;

	n = sizeof protocol;
	is = is && !getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &n) && protocol == NETLINK_ROUTE;
	errno = saved;
	return is;
}

static char *put(char *at, int type, const void *data, int n)
{
	struct rtattr *a = (struct rtattr *)at;

	memset(at, 0, RTA_SPACE(n));
	a->rta_type = type;
	a->rta_len = RTA_LENGTH(n);
	memcpy(RTA_DATA(a), data, n);
	return at + RTA_SPACE(n);
}

static char *put_kind(char *at, const struct guise *g)
{
	char *info = at, *data;
	unsigned short key = 0xffff, mode = g->connected, umcast = 0;

	at = put(at, IFLA_LINKINFO, "", 0);
	at = put(at, IFLA_INFO_KIND, "ipoib", 6);
	data = at;
	at = put(at, IFLA_INFO_DATA, "", 0);
	at = put(at, IFLA_IPOIB_PKEY, &key, 2);
	at = put(at, IFLA_IPOIB_MODE, &mode, 2);
	at = put(at, IFLA_IPOIB_UMCAST, &umcast, 2);
	((struct rtattr *)data)->rta_len = at - data;
	((struct rtattr *)info)->rta_len = at - info;
	return at;
}

/* put_ipoib writes an attribute of a veth as ib_ipoib has it. */
static char *put_ipoib(char *at, const struct rtattr *a, const struct guise *g)
{
	/* RFC 4391: the group of all hosts of the default partition. */
	static const unsigned char broadcast[ADDRESS] = {
		0, 0xff, 0xff, 0xff, 0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff};
	unsigned queue = 256, most = CONNECTED_MTU, least = 0;

	switch (a->rta_type & NLA_TYPE_MASK) {
	case IFLA_ADDRESS:
	case IFLA_PERM_ADDRESS:
		return put(at, a->rta_type, g->address, ADDRESS);
	case IFLA_BROADCAST:
		return put(at, a->rta_type, broadcast, ADDRESS);
	case IFLA_LINKINFO:
		return put_kind(at, g);
	case IFLA_TXQLEN:
		return put(at, a->rta_type, &queue, 4);
	case IFLA_MAX_MTU:
		return put(at, a->rta_type, &most, 4);
	case IFLA_MIN_MTU:
		return put(at, a->rta_type, &least, 4);
	}
	return put(at, a->rta_type, RTA_DATA(a), RTA_PAYLOAD(a));
}

/* rewrite copies one message, in the guise of its interface; gives its end. */
static char *rewrite(char *at, const struct nlmsghdr *h)
{
	struct nlmsghdr *copy = (struct nlmsghdr *)at;
	const struct ifinfomsg *link = NLMSG_DATA(h);
	int head = NLMSG_SPACE(sizeof *link), left = h->nlmsg_len - head;
	struct guise g = {0};

	if ((h->nlmsg_type == RTM_NEWLINK || h->nlmsg_type == RTM_DELLINK) && left > 0 && link->ifi_family == AF_UNSPEC) {
		int n = left;

		for (struct rtattr *a = IFLA_RTA(link); RTA_OK(a, n); a = RTA_NEXT(a, n))
			if (a->rta_type == IFLA_IFALIAS)
				parse(RTA_DATA(a), &g);
	}
	if (!g.ipoib && !g.ether) {
		memcpy(at, h, h->nlmsg_len);
		return at + NLMSG_ALIGN(h->nlmsg_len);
	}
	memcpy(at, h, head);
	if (g.ipoib)
		((struct ifinfomsg *)NLMSG_DATA(copy))->ifi_type = ARPHRD_INFINIBAND;
	at += head;
	for (struct rtattr *a = IFLA_RTA(link); RTA_OK(a, left); a = RTA_NEXT(a, left)) {
		switch (a->rta_type & NLA_TYPE_MASK) {
		case IFLA_IFALIAS:
		case IFLA_LINK: /* the other end of the pair */
		case IFLA_LINK_NETNSID:
			continue;
		case IFLA_LINKINFO:
			if (g.ether)
				continue; /* a card has no kind */
		}
		at = g.ipoib ? put_ipoib(at, a, &g) : put(at, a->rta_type, RTA_DATA(a), RTA_PAYLOAD(a));
	}
	copy->nlmsg_len = at - (char *)copy;
	return at;
}

ssize_t recvmsg(int fd, struct msghdr *m, int flags)
{
	struct iovec whole;
	struct msghdr own = *m;
	char *in, *out, *end, *from;
	ssize_t n, size, room = 0;

	if (!route_socket(fd) || !(in = malloc(3 * MESSAGES)))
		return REAL(recvmsg)(fd, m, flags);
	whole.iov_base = in;
	whole.iov_len = MESSAGES;
	own.msg_iov = &whole;
	own.msg_iovlen = 1;
	n = REAL(recvmsg)(fd, &own, flags);
	m->msg_namelen = own.msg_namelen;
	m->msg_controllen = own.msg_controllen;
	m->msg_flags = own.msg_flags;
	if (n < 0)
		goto done;
	end = out = in + MESSAGES;
	size = n < MESSAGES ? n : MESSAGES;
	for (struct nlmsghdr *h = (struct nlmsghdr *)in; NLMSG_OK(h, size); h = NLMSG_NEXT(h, size))
		end = rewrite(end, h);
	n = size = end - out;
	from = out;
	for (size_t i = 0; i < m->msg_iovlen; i++) {
		size_t part = m->msg_iov[i].iov_len < (size_t)size ? m->msg_iov[i].iov_len : (size_t)size;

		memcpy(m->msg_iov[i].iov_base, from, part);
		from += part;
		size -= part;
		room += part;
	}
	if (size > 0) {
		m->msg_flags |= MSG_TRUNC;
		n = flags & MSG_TRUNC ? n : room;
	}
done:
	{
		int saved = errno;

		free(in);
		errno = saved;
	}
	return n;
}

ssize_t recvfrom(int fd, void *buffer, size_t n, int flags, struct sockaddr *from, socklen_t *length)
{
	struct iovec iov = {buffer, n};
	struct msghdr m = {.msg_name = from, .msg_namelen = length ? *length : 0, .msg_iov = &iov, .msg_iovlen = 1};
	ssize_t got;

	if (!route_socket(fd))
		return REAL(recvfrom)(fd, buffer, n, flags, from, length);
	got = recvmsg(fd, &m, flags);
	if (got >= 0 && length)
		*length = m.msg_namelen;
	return got;
}

ssize_t recv(int fd, void *buffer, size_t n, int flags)
{
	return recvfrom(fd, buffer, n, flags, NULL, NULL);
}

/*
 * rule does with an MTU what ib_ipoib does (drivers/infiniband/ulp/ipoib): in
 * datagram mode the group's limit holds without a word, and the port's with an
 * error. The kernel below is given what it refuses in the same words.
 */
static void rule(const struct guise *g, struct rtattr *a)
{
	unsigned mtu;

	memcpy(&mtu, RTA_DATA(a), 4);
	if (mtu > CONNECTED_MTU)
		mtu = 1 << 20; /* above the maximum of a veth, too */
	else if (g->connected || (mtu >= LEAST_MTU && mtu <= GROUP_MTU))
		return;
	else if (mtu > GROUP_MTU && mtu <= PORT_MTU)
		mtu = GROUP_MTU;
	else
		a->rta_type = IFLA_ADDRESS; /* too short for one: "Invalid argument" */
	memcpy(RTA_DATA(a), &mtu, 4);
}

/* check makes the MTU in requests a legal one, in place. */
static void check(char *at, ssize_t left)
{
	for (struct nlmsghdr *h = (struct nlmsghdr *)at; NLMSG_OK(h, left); h = NLMSG_NEXT(h, left)) {
		struct ifinfomsg *link = NLMSG_DATA(h);
		int n = (int)h->nlmsg_len - (int)NLMSG_SPACE(sizeof *link);
		struct rtattr *mtu = NULL;
		char name[IFNAMSIZ] = "";
		struct guise g;

		if ((h->nlmsg_type != RTM_NEWLINK && h->nlmsg_type != RTM_SETLINK) || n <= 0)
			continue;
		for (struct rtattr *a = IFLA_RTA(link); RTA_OK(a, n); a = RTA_NEXT(a, n)) {
			if (a->rta_type == IFLA_MTU)
				mtu = a;
			if (a->rta_type == IFLA_IFNAME && RTA_PAYLOAD(a) <= IFNAMSIZ)
				memcpy(name, RTA_DATA(a), RTA_PAYLOAD(a));
		}
		if (mtu && (link->ifi_index <= 0 || if_indextoname(link->ifi_index, name)) && named(name, &g) && g.ipoib)
			rule(&g, mtu);
	}
}

ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
	struct msghdr own = *m;
	struct iovec one;
	size_t n = 0;
	ssize_t sent;
	char *copy;

	for (size_t i = 0; i < m->msg_iovlen; i++)
		n += m->msg_iov[i].iov_len;
	if (!route_socket(fd) || !(copy = malloc(n + 1)))
		return REAL(sendmsg)(fd, m, flags);
	n = 0;
	for (size_t i = 0; i < m->msg_iovlen; i++) {
		memcpy(copy + n, m->msg_iov[i].iov_base, m->msg_iov[i].iov_len);
		n += m->msg_iov[i].iov_len;
	}
	check(copy, n);
	one.iov_base = copy;
	one.iov_len = n;
	own.msg_iov = &one;
	own.msg_iovlen = 1;
	sent = REAL(sendmsg)(fd, &own, flags);
	n = errno;
	free(copy);
	errno = n;
	return sent;
}

ssize_t sendto(int fd, const void *buffer, size_t n, int flags, const struct sockaddr *to, socklen_t length)
{
	struct iovec iov = {(void *)buffer, n};
	struct msghdr m = {.msg_name = (void *)to, .msg_namelen = length, .msg_iov = &iov, .msg_iovlen = 1};

	if (!route_socket(fd))
		return REAL(sendto)(fd, buffer, n, flags, to, length);
	return sendmsg(fd, &m, flags);
}

ssize_t send(int fd, const void *buffer, size_t n, int flags) { return sendto(fd, buffer, n, flags, NULL, 0); }

int ioctl(int fd, unsigned long request, ...)
{
	va_list list;
	void *data;
	struct guise g;
	int done;

	va_start(list, request);
	data = va_arg(list, void *);
	va_end(list);
	done = REAL(ioctl)(fd, request, data);
	if (request == SIOCETHTOOL && !done) {
		struct ifreq *r = data;
		struct ethtool_drvinfo *d = (void *)r->ifr_data;

		/* udev's rules for NetworkManager leave veth alone. */
		if (d->cmd == ETHTOOL_GDRVINFO && named(r->ifr_name, &g))
			strcpy(d->driver, g.ipoib ? "ib_ipoib" : "igb");
	}
	return done;
}

/* libsystemd takes nothing for a device that is not in a sysfs. */
static void looks(int fd, long *type)
{
	char link[32], target[8] = "";

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	if (*type == 0x65735546 && readlink(link, target, 5) == 5 && !strcmp(target, "/sys/"))
		*type = 0x62656572;
}

int fstatfs(int fd, struct statfs *s)
{
	int r = REAL(fstatfs)(fd, s);

	if (!r)
		looks(fd, (long *)&s->f_type);
	return r;
}

int fstatfs64(int fd, struct statfs64 *s)
{
	int r = REAL(fstatfs64)(fd, s);

	if (!r)
		looks(fd, (long *)&s->f_type);
	return r;
}
