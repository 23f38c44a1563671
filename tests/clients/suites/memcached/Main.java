import net.spy.memcached.*;
import net.spy.memcached.internal.*;
import net.rubyeye.xmemcached.*;
import net.rubyeye.xmemcached.utils.AddrUtil;
import java.util.*;
import java.util.concurrent.*;
/** Each command of two Java clients of memcached's protocol: Main CLIENT HOST:PORT. */
public class Main {
  static void must(boolean ok, String what) { if (!ok) throw new RuntimeException(what); }
  static void spy(String at) throws Exception {
    net.spy.memcached.MemcachedClient c = new net.spy.memcached.MemcachedClient(net.spy.memcached.AddrUtil.getAddresses(at));
    c.flush().get();
    must(c.set("a", 0, "one").get(), "set"); must("one".equals(c.get("a")), "get");
    must(!c.add("a", 0, "x").get() && c.replace("a", 0, "two").get(), "add replace");
    CASValue<Object> v = c.gets("a"); must(c.cas("a", v.getCas(), "three") == CASResponse.OK, "cas");
    must(c.cas("a", v.getCas(), "four") == CASResponse.EXISTS, "cas late"); must(c.cas("no", 1, "x") == CASResponse.NOT_FOUND, "cas none");
    must(c.append(0, "a", "+").get() && c.prepend(0, "a", "-").get() && "-three+".equals(c.get("a")), "append");
    must(c.incr("n", 1, 7) == 7 && c.incr("n", 5) == 12 && c.decr("n", 20) == 0, "incr");
    for (int i = 0; i < 200; i++) c.set("k" + i, 0, i);
    List<String> keys = new ArrayList<>(); for (int i = 0; i < 210; i++) keys.add("k" + i);
    must(c.getBulk(keys).size() == 200, "bulk"); must(c.touch("a", 100).get(), "touch");
    must(c.delete("a").get() && c.get("a") == null, "delete"); must(c.getVersions().size() == 1, "version");
    must(c.getStats().values().iterator().next().get("version").equals("1.6.18"), "stats");
    c.set("e", 1, "x").get(); Thread.sleep(2100); must(c.get("e") == null, "expiry"); c.shutdown(5, TimeUnit.SECONDS);
    System.out.println("spymemcached ok");
  }
  static void x(String at) throws Exception {
    net.rubyeye.xmemcached.MemcachedClient c = new XMemcachedClientBuilder(AddrUtil.getAddresses(at)).build();
    c.flushAll();
    must(c.set("a", 0, "one") && "one".equals(c.get("a")), "set"); must(!c.add("a", 0, "x") && c.replace("a", 0, "two"), "add");
    GetsResponse<String> v = c.gets("a"); must(c.cas("a", 0, "three", v.getCas()) && !c.cas("a", 0, "four", v.getCas()), "cas");
    must(c.append("a", "+") && c.prepend("a", "-") && "-three+".equals(c.get("a")), "append");
    must(c.incr("n", 5, 7) == 7 && c.incr("n", 5, 0) == 12 && c.decr("n", 20) == 0, "incr");
    for (int i = 0; i < 100; i++) c.setWithNoReply("k" + i, 0, "v" + i);
    List<String> keys = new ArrayList<>(); for (int i = 0; i < 110; i++) keys.add("k" + i);
    Thread.sleep(300); must(c.get(keys).size() == 100, "multi"); must(c.touch("a", 100), "touch");
    must(c.gets(keys).size() == 100, "gets");
    must(c.delete("a") && c.get("a") == null, "delete"); must(c.getVersions().size() == 1, "version"); must(c.getStats().size() == 1, "stats");
    c.shutdown(); System.out.println("xmemcached ok");
  }
  public static void main(String[] a) throws Exception { if (a[0].equals("spymemcached")) spy(a[1]); else x(a[1]); System.exit(0); }
}
