// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "stores/http/host.h"
#include "stores/http/reply.h"
#include "stores/registry.h"

namespace forebay::stores {
namespace {

using http::Clock;
using http::content_range_of;
using http::ContentRange;
using http::Host;
using http::Reply;
using std::chrono::milliseconds;

TEST(ContentRange, IsReadExactly) {
  EXPECT_EQ(content_range_of("bytes 0-9/100"), (ContentRange{0, 9, 100}));
  EXPECT_EQ(content_range_of(" Bytes 5-5/*"), (ContentRange{5, 5, -1}));
  EXPECT_EQ(content_range_of("bytes */7"), (ContentRange{-1, -1, 7}));
  for (const char* const text :
       {"", "bytes", "bytes 0-9", "bytes 9-0/10", "bytes 0-10/10", "bytes -1-2/3", "bytes 0-/3", "bytes 0-2/-3",
        "bytes 0-99999999999999999999/*", "items 0-1/2", "bytes 0-1/2,3", "bytes 0x0-1/2"})
    EXPECT_EQ(content_range_of(text), std::nullopt) << text;
}

Reply reply_of(const std::vector<std::string>& lines) {
  Reply out;
  for (const std::string& line : lines) EXPECT_TRUE(out.add(line + "\r\n"));
  return out;
}

TEST(Reply, IsThatOfTheLastHead) {
  const Reply reply = reply_of({"HTTP/1.1 100 Continue", "ETag: \"x\"", "", "HTTP/1.1 206 Partial Content",
                                "content-length:  10 ", "CONTENT-RANGE: bytes 20-29/64", "ETag: \"y\"",
                                "Content-Encoding: identity", "Retry-After: 7", "x-amz-request-id: 5WFY"});
  EXPECT_EQ(reply.status(), 206);
  EXPECT_EQ(reply.reason(), "Partial Content");
  EXPECT_EQ(reply.length(), 10);
  EXPECT_EQ(reply.size(), 64);
  EXPECT_EQ(reply.range(), (ContentRange{20, 29, 64}));
  EXPECT_EQ(reply.etag(), "\"y\"");
  EXPECT_EQ(reply.encoding(), "");
  EXPECT_EQ(reply.retry_after(), 7);
  EXPECT_EQ(reply.request_id(), "5WFY");
  EXPECT_FALSE(reply.contradicts_itself());
}

TEST(Reply, NoticesWhatContradictsItself) {
  for (const std::vector<std::string>& lines :
       std::vector<std::vector<std::string>>{{"Content-Length: 1", "Content-Length: 2"},
                                             {"Content-Length: 1, 2"},
                                             {"Content-Length: -1"},
                                             {"ETag: \"a\"", "ETag: \"b\""},
                                             {"Content-Range: bytes 0-1/2", "Content-Range: bytes 0-0/2"},
                                             {"Content-Range: all of it"}})
    EXPECT_TRUE(reply_of(lines).contradicts_itself()) << lines.front();
  EXPECT_FALSE(reply_of({"Content-Length: 1", "Content-Length: 1"}).contradicts_itself());
}

TEST(Reply, HasNoEndlessHead) {
  Reply reply;
  int lines = 0;
  while (reply.add("X-Filling: " + std::string(1000, 'x'))) ASSERT_LT(++lines, 1000);
}

TEST(Reply, VersionsDifferWhereETagsDo) {
  EXPECT_EQ(reply_of({"Content-Length: 3"}).version(), 0);
  EXPECT_NE(reply_of({"ETag: \"a\""}).version(), reply_of({"ETag: \"b\""}).version());
  EXPECT_EQ(reply_of({"ETag: W/\"a\""}).version(), reply_of({"ETag: \"a\"", "Last-Modified: today"}).version());
  EXPECT_NE(reply_of({"Last-Modified: today"}).version(), reply_of({"Last-Modified: yesterday"}).version());
}

/// A host and a clock that stands still until it is moved.
struct Connections {
  Host host{32};
  Clock::time_point now{std::chrono::hours{1}};

  /// All the connections that are allowed, for `time`, each request taking 50 ms.
  void work(milliseconds time, bool slower_at_first = false) {
    for (const auto end = now + time; now < end;) {
      int begun = 0;
      for (; host.may_begin(); ++begun) host.began(now, false);
      const auto began = now;
      now += milliseconds{50};
      for (int i = 0; i < begun; ++i) host.ended(began, now, slower_at_first, slower_at_first);
      slower_at_first = false;
    }
  }
};

TEST(Host, GrowsWhileAllConnectionsAreUsed) {
  Connections at;
  EXPECT_EQ(at.host.connections(), 16);
  at.work(milliseconds{1000});
  EXPECT_THAT(at.host.connections(), testing::AllOf(testing::Ge(19), testing::Le(20)));
  at.work(milliseconds{5000});
  EXPECT_EQ(at.host.connections(), 32);
  at.work(milliseconds{5000});
  EXPECT_EQ(at.host.connections(), 32);
}

TEST(Host, HalvesOnceForARoundOfRefusals) {
  Connections at;
  at.work(milliseconds{10'000});
  at.work(milliseconds{50}, true);
  EXPECT_EQ(at.host.connections(), 16);
  for (int i = 0; i < 20; ++i) at.work(milliseconds{50}, true);
  EXPECT_EQ(at.host.connections(), 1);
  at.work(milliseconds{10'000});  // and is at full speed again ten seconds later
  EXPECT_EQ(at.host.connections(), 32);
}

TEST(Host, DoesNotGrowWithoutWork) {
  Connections at;
  for (int i = 0; i < 100; ++i) {
    at.host.began(at.now, false);
    at.now += milliseconds{500};
    at.host.ended(at.now - milliseconds{500}, at.now, false, false);
  }
  EXPECT_EQ(at.host.connections(), 16);
}

TEST(Host, HedgesAfterWhatIsUnusual) {
  Connections at;
  const auto serve = [&](double seconds) {
    at.host.began(at.now, false);
    at.host.ended(at.now, at.now, false, false);
    at.host.served(seconds, 1e6);
  };
  for (int i = 0; i < 19; ++i) serve(.1);
  EXPECT_EQ(at.host.hedge_after(), std::nullopt) << "nothing is known yet";
  serve(.1);
  EXPECT_EQ(at.host.hedge_after(), 1.) << "a second at least";
  for (int i = 0; i < 200; ++i) serve(i % 10 == 0 ? 3. : .1);
  EXPECT_EQ(at.host.hedge_after(), 6.) << "twice the time of which 5 % are longer";
  EXPECT_EQ(at.host.slow_rate(), 1e6 / 8);
  int hedges = 0;
  for (; at.host.hedge_after() && hedges < 100; ++hedges) at.host.began(at.now, true);
  EXPECT_EQ(hedges, 11) << "5 % of 220 requests";
}

TEST(Host, IsOutOfOrderWhenHalfOfItsAnswersAreFaults) {
  Connections at;
  const auto answer = [&](bool fault) {
    at.host.began(at.now, false);
    at.host.ended(at.now, at.now, fault, false);
  };
  for (int i = 0; i < 19; ++i) answer(true);
  EXPECT_FALSE(at.host.out_of_order());
  answer(true);
  EXPECT_TRUE(at.host.out_of_order());
  for (int i = 0; i < 20; ++i) answer(false);
  EXPECT_FALSE(at.host.out_of_order());
}

TEST(PublicName, HasNoSecret) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"https://h/a?b=1", "https://h/a?b=1"},
      {"https://h/a?b=1&X-Amz-Signature=s&X-Amz-Date=d", "https://h/a?b=1"},
      {"https://ann:secret@h/a", "https://h/a"},
      {"https://ann@h/a?sig=x", "https://h/a"},
      {"https://h/a@b", "https://h/a@b"},
      {"https://h?a=@b", "https://h?a=@b"},
      {"https://u:p@w@h/a", "https://h/a"},
      {"s3://b/a?sig=x", "s3://b/a?sig=x"},
      {"/a/b@c", "/a/b@c"}};
  for (const auto& [path, name] : cases) EXPECT_EQ(public_name(path), name);
}

}  // namespace
}  // namespace forebay::stores
