package qwen

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"
	netproxy "golang.org/x/net/proxy"
)

// dialTimeout bounds one connection attempt to the site or to the user's own
// proxy.
const dialTimeout = 30 * time.Second

// directDialer connects without any proxy, on hardened sockets.
var directDialer = &net.Dialer{Timeout: dialTimeout, Control: hardenSocket}

// upstreamDialer returns how the browser's connections leave this machine:
// through the proxy that the user's environment names (HTTPS_PROXY, ALL_PROXY,
// NO_PROXY, as in curl), or directly.
func upstreamDialer() (dialFunc, error) {
	env := httpproxy.FromEnvironment()
	if env.HTTPSProxy == "" {
		env.HTTPSProxy = firstEnv("ALL_PROXY", "all_proxy")
	}
	choose := env.ProxyFunc()
	if err := understood(*env); err != nil {
		return nil, err
	}
	return func(ctx context.Context, hostPort string) (net.Conn, error) {
		via, err := choose(&url.URL{Scheme: "https", Host: hostPort})
		if err != nil {
			return nil, err
		}
		if via == nil {
			return directDialer.DialContext(ctx, "tcp", hostPort)
		}
		return dialVia(ctx, via, hostPort)
	}, nil
}

// understood is an error when the environment names a proxy that can't be read:
// it would be passed by without a word, and the site be asked directly.
func understood(env httpproxy.Config) error {
	if env.HTTPSProxy == "" {
		return nil
	}
	env.NoProxy = ""
	via, err := env.ProxyFunc()(&url.URL{Scheme: "https", Host: "site.example"})
	if err != nil || via == nil || via.Hostname() == "" || strings.Trim(via.Path, "/") != "" || !slices.Contains(proxySchemes, via.Scheme) {
		e := fail(KindUnreachable, "read the proxy of the environment", "HTTPS_PROXY or ALL_PROXY is not an address")
		e.Advice = "write it as http://host:port or socks5://host:port"
		return e
	}
	return nil
}

// proxySchemes are the kinds of proxies that are understood.
var proxySchemes = []string{"http", "socks5", "socks5h"}

func firstEnv(names ...string) string {
	for _, name := range names {
		if v := os.Getenv(name); v != "" {
			return v
		}
	}
	return ""
}

// dialVia connects through the user's own SOCKS5 or HTTP proxy.
func dialVia(ctx context.Context, via *url.URL, hostPort string) (net.Conn, error) {
	switch via.Scheme {
	case "socks5", "socks5h":
		d, err := netproxy.FromURL(via, directDialer)
		if err != nil {
			return nil, fmt.Errorf("use the proxy %s: %w", via.Redacted(), err)
		}
		return d.(netproxy.ContextDialer).DialContext(ctx, "tcp", hostPort)
	case "http":
		return dialConnect(ctx, via, hostPort)
	}
	return nil, fmt.Errorf("the proxy %s is not of a kind that is understood: use http:// or socks5://", via.Redacted())
}

// dialConnect asks an HTTP proxy for a tunnel.
func dialConnect(ctx context.Context, via *url.URL, hostPort string) (net.Conn, error) {
	address := via.Host
	if via.Port() == "" {
		address = net.JoinHostPort(via.Hostname(), "80")
	}
	conn, err := directDialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	conn.SetDeadline(time.Now().Add(dialTimeout))
	request := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: hostPort}, Host: hostPort, Header: http.Header{}}
	if user := via.User; user != nil {
		password, _ := user.Password()
		token := base64.StdEncoding.EncodeToString([]byte(user.Username() + ":" + password))
		request.Header.Set("Proxy-Authorization", "Basic "+token)
	}
	if err := request.Write(conn); err != nil {
		conn.Close()
		return nil, err
	}
	reader := bufio.NewReader(conn)
	reply, err := http.ReadResponse(reader, request)
	if err == nil && (reply.StatusCode != http.StatusOK || reader.Buffered() > 0) {
		err = fmt.Errorf("the proxy %s answered %s", via.Redacted(), reply.Status)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	conn.SetDeadline(time.Time{})
	return conn, nil
}
