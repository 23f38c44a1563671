// Each command of gomemcache: suite HOST:PORT.
package main

import (
	"fmt"
	"os"

	"github.com/bradfitz/gomemcache/memcache"
)

func must(ok bool, what string, err error) {
	if !ok {
		fmt.Println("FAILED", what, err)
		os.Exit(1)
	}
}

func main() {
	c := memcache.New(os.Args[1])
	must(c.Ping() == nil, "ping", nil)
	must(c.FlushAll() == nil, "flush_all", nil)
	must(c.Set(&memcache.Item{Key: "foo", Value: []byte("fooval"), Flags: 123}) == nil, "set", nil)
	it, err := c.Get("foo")
	must(err == nil && string(it.Value) == "fooval" && it.Flags == 123, "get", err)
	must(c.Add(&memcache.Item{Key: "foo", Value: []byte("x")}) == memcache.ErrNotStored, "add", nil)
	must(c.Replace(&memcache.Item{Key: "nope", Value: []byte("x")}) == memcache.ErrNotStored, "replace", nil)
	must(c.Append(&memcache.Item{Key: "foo", Value: []byte("+")}) == nil, "append", nil)
	must(c.Prepend(&memcache.Item{Key: "foo", Value: []byte("-")}) == nil, "prepend", nil)
	it, err = c.Get("foo")
	must(err == nil && string(it.Value) == "-fooval+", "value", err)
	must(c.Set(&memcache.Item{Key: "foo", Value: []byte("other")}) == nil, "set", nil)
	it.Value = []byte("late")
	must(c.CompareAndSwap(it) == memcache.ErrCASConflict, "cas late", nil)
	it, _ = c.Get("foo")
	it.Value = []byte("good")
	must(c.CompareAndSwap(it) == nil, "cas", nil)
	m, err := c.GetMulti([]string{"foo", "bar", "nope"})
	must(err == nil && len(m) == 1, "multi", err)
	must(c.Set(&memcache.Item{Key: "n", Value: []byte("42")}) == nil, "set", nil)
	n, err := c.Increment("n", 8)
	must(err == nil && n == 50, "incr", err)
	n, err = c.Decrement("n", 49)
	must(err == nil && n == 1, "decr", err)
	_, err = c.Increment("foo", 1)
	must(err != nil, "incr of text", err)
	must(c.Touch("foo", 100) == nil && c.Touch("nope", 1) == memcache.ErrCacheMiss, "touch", nil)
	it, err = c.GetAndTouch("foo", 50)
	must(err == nil && string(it.Value) == "good", "gat", err)
	must(c.Delete("foo") == nil && c.Delete("foo") == memcache.ErrCacheMiss, "delete", nil)
	must(c.Set(&memcache.Item{Key: "bad key", Value: nil}) == memcache.ErrMalformedKey, "key", nil)
	must(c.DeleteAll() == nil, "delete all", nil)
	fmt.Println("gomemcache ok")
}
