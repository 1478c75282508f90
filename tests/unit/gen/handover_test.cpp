// SPDX-License-Identifier: BSD-3-Clause
// What RDMA peers exchange over TCP: every line is read as it was written; wrong lines, wrong
// clients and silent ones get a reason and keep nobody else out.
#include "gen/perf/session/handover.h"

#include <future>
#include <sys/socket.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "core/limits.h"
#include "gen/perf/session/handover_link.h"

namespace lw::test::handover_test {
namespace {

using namespace gen::handover;
using namespace std::chrono_literals;
using testing::HasSubstr;
using Json = nlohmann::ordered_json;

const std::atomic<bool> kGoOn{false};

wire::Ipv6Address gid(const char* text) { return gid_of(*wire::parse_ip(text)); }

Hello example_hello() {
  return {.token = "0123456789abcdef",
          .params = {.operation = wire::Operation::send, .size = 4096, .slots = 8, .depth = 4},
          .count = 1000,
          .mtu = 2048,
          .timeout = 14,
          .retries = 5,
          .gid = gid("192.0.2.1"),
          .qps = {{.qpn = 0x11, .psn = 0xffffff, .va = ~std::uint64_t{0}, .r_key = 0xffffffff},
                  {.qpn = 0x12, .psn = 7, .va = 4096, .r_key = 1}}};
}

Offer example_offer() {
  return {.qps = {{.qpn = 1, .psn = 2, .va = 3, .r_key = 4}, {.qpn = 5, .psn = 6}},
          .va = 0x7f0000000000,
          .size = 1 << 20,
          .r_key = 9,
          .gid = gid("2001:db8::2"),
          .rocev1 = true,
          .mtu = 1024,
          .q_key = 0x11111111,
          .max_rd_atomic = 16};
}

Report example_report() {
  return {.stats = {.checked = 10, .wrong = 1, .duplicates = 2},
          .counted = false,
          .messages = 10,
          .bytes = 40960,
          .errors = 1,
          .failure = "the client left",
          .signatures =
              {.frames = 40, .unsigned_frames = 1, .lost = 2, .duplicated = 3, .out_of_order = 4},
          .counters = {{"rcvd_pkts", 12}, {"duplicate_request", 0}}};
}

TEST(HandoverOffer, of_another_encapsulation_is_an_error) {
  EXPECT_TRUE(check_encapsulation(example_offer(), true));
  const auto other = check_encapsulation(example_offer(), false);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().exit, ExitCode::environment);
  EXPECT_NE(other.error().message.find("2001:db8::2 is of rocev1"), std::string::npos);
}

TEST(HandoverLines, of_one_way_have_nothing_of_the_other) {
  const Json hello = Json::parse(line_of(example_hello()));
  for (const char* field : {"both", "duration_ns", "margin_ns"})
    EXPECT_FALSE(hello.contains(field));
  Json wrong = hello;
  wrong["margin_ns"] = 1;  // of a run without a duration
  EXPECT_FALSE(read_hello(wrong.dump()));
}

TEST(HandoverLines, both_ways_ask_for_no_more_memory_than_the_slots) {
  Hello hello = example_hello();
  hello.params.both = true;
  hello.duration = std::chrono::nanoseconds(10);
  hello.margin = std::chrono::nanoseconds(4);
  ASSERT_TRUE(read_hello(line_of(hello)));
  const auto refused = [](Hello changed, auto change) {
    change(changed);
    return !read_hello(line_of(changed));
  };
  EXPECT_TRUE(refused(hello, [](Hello& h) { h.params.slots = 2 * h.params.depth - 1; }));
  EXPECT_TRUE(refused(hello, [](Hello& h) { h.params.depth = 1 << 20; }));
  EXPECT_TRUE(refused(hello, [](Hello& h) { h.params.echo = true; }));
  EXPECT_TRUE(refused(hello, [](Hello& h) { h.params.transport = wire::Transport::uc; }));
  EXPECT_TRUE(refused(hello, [](Hello& h) { h.margin = h.duration / 2; }));  // nothing is left
}

TEST(HandoverLines, are_read_as_they_were_written) {
  EXPECT_EQ(read_hello(line_of(example_hello())).value(), example_hello());
  EXPECT_EQ(read_offer(line_of(example_offer())).value(), example_offer());
  EXPECT_EQ(read_report(line_of(example_report())).value(), example_report());
  Hello both = example_hello();
  both.params.both = true;
  both.duration = std::chrono::seconds(3);
  both.margin = std::chrono::seconds(1);
  EXPECT_EQ(read_hello(line_of(both)).value(), both);
  Done of_server{.messages = {3, 4}, .bytes = 7, .signed_frames = {}};
  of_server.stopped = true;
  of_server.elapsed_ns = 1;
  of_server.average_bps = 2;
  of_server.steady_bps = 3;
  of_server.peak_bps = 4;
  for (const Done& done : {of_server, Done{.messages = {3, 4}, .bytes = 7, .signed_frames = {}},
                           Done{.messages = {3, 4}, .bytes = 7, .signed_frames = {12, 16}}})
    EXPECT_EQ(read_done(line_of(done)).value(), done);
  Hello hello = example_hello();
  hello.checked = false;
  hello.signatures = true;
  hello.payload_crcs = {1, 0xffffffff};
  EXPECT_EQ(read_hello(line_of(hello)).value(), hello);
}

std::string reason_of(const Json& hello) {
  const auto read = read_hello(hello.dump());
  return read ? "" : read.error().message;
}

TEST(HandoverLines, lack_no_field) {
  const Json good = Json::parse(line_of(example_hello()));
  ASSERT_EQ(reason_of(good), "");
  for (const auto& [name, value] : good.items()) {
    Json lacking = good;
    lacking.erase(name);
    EXPECT_THAT(reason_of(lacking), HasSubstr(name));
  }
}

TEST(HandoverLines, have_fields_in_their_range) {
  const Json good = Json::parse(line_of(example_hello()));
  struct Case {
    const char* field;
    Json value;
    const char* reason;
  };
  for (const Case& wrong : {
           Case{"transport", "xrc", "\"transport\": expected one of rc, uc, ud, found \"xrc\""},
           Case{"operation", 3, "\"operation\": expected a string, found 3"},
           Case{"bytes", 0, "\"bytes\": expected a whole number from 1 to 2147483648, found 0"},
           Case{"bytes", -1, "found -1"},
           Case{"bytes", 1.5, "found 1.5"},
           Case{"mtu", 1500, "expected 256, 512, 1024, 2048 or 4096, found 1500"},
           Case{"timeout", 32, "from 0 to 31, found 32"},
           Case{"gid", "nowhere", "\"gid\": expected an IPv6 address"},
           Case{"qps", Json::array(), "\"qps\": expected a list of 1 to 512, found 0"},
           Case{"qps", {{{"qpn", 1 << 24}}}, "\"qpn\": expected a whole number from 0 to 16777215"},
           Case{"echo", "yes", "\"echo\": expected true or false, found \"yes\""},
           Case{"payload_crcs", {1}, "\"payload_crcs\": expected none or 2, found 1"},
           Case{"signatures", true, "messages with signatures are not \"checked\""},
           Case{"version", 1, "this side speaks version 2, the other side 1"},
           Case{"schema", "else", "expected the schema \"longwire-handover\", found \"else\""},
           Case{"kind", "offer", "expected \"kind\":\"hello\", found \"offer\""},
           Case{"transport", "ud", "is not possible with ud"},
       }) {
    Json json = good;
    json[wrong.field] = wrong.value;
    if (std::string_view(wrong.reason).ends_with("with ud")) json["operation"] = "write";
    EXPECT_THAT(reason_of(json), HasSubstr(wrong.reason)) << wrong.field;
  }
}

TEST(HandoverLines, that_are_no_json_are_shown) {
  EXPECT_EQ(read_hello("GET / HTTP/1.1\n").error().message,
            "hello: expected a line of JSON, found \"GET / HTTP/1.1\"");
  EXPECT_THAT(read_hello(std::string(60'000, '[')).error().message, HasSubstr("a line of JSON"));
  EXPECT_THAT(read_hello("{\"schema\":" + std::string(60'000, '[')).error().message,
              HasSubstr("a line of JSON"));
  EXPECT_THAT(read_hello(std::string(kMostBytes + 1, ' ')).error().message,
              HasSubstr("at most 65536 bytes"));
}

TEST(HandoverLines, have_numbers_within_their_limits) {
  const Json good = Json::parse(line_of(example_hello()));
  for (const auto& [field, most] : {std::pair{"bytes", lw::kMostMessage},
                                    {"slots", gen::kMostSlots},
                                    {"depth", gen::kMostDepth}}) {
    Json json = good;
    json[field] = most;
    EXPECT_EQ(reason_of(json), "");
    json[field] = most + 1;
    EXPECT_THAT(reason_of(json), HasSubstr(fmt::format("from 1 to {}", most)));
  }
}

/// An offer's MTU is a divisor of addresses: an MTU that is no power of two made the client send
/// bytes from outside its memory.
TEST(HandoverLines, of_an_offer_have_an_mtu_that_exists_and_a_region_that_ends) {
  Json offer = Json::parse(line_of(example_offer()));
  offer["mtu"] = 257;
  EXPECT_THAT(read_offer(offer.dump()).error().message, HasSubstr("found 257"));
  offer["mtu"] = 4096;
  offer["size"] = ~std::uint64_t{0};
  EXPECT_THAT(read_offer(offer.dump()).error().message, HasSubstr("\"size\""));
}

TEST(HandoverLines, show_no_control_characters) {
  Json report = Json::parse(line_of(example_report()));
  report["failure"] = "\x1b[2Jgone\u009b\n";
  EXPECT_EQ(read_report(report.dump()).value().failure, "?[2Jgone???");
  report["counters"]["\x1b[2J"] = 1;
  EXPECT_THAT(read_report(report.dump()).error().message, HasSubstr("plain names"));
  EXPECT_EQ(read_offer(refusal_line("\x07no\r")).error().message, "refused by the server: ?no?");
  EXPECT_EQ(read_offer(refusal_line(std::string(5000, 'x'))).error().message.size(),
            std::string("refused by the server: ...").size() + gen::kMostShown);
}

TEST(HandoverLines, of_a_refusal_state_its_reason) {
  EXPECT_EQ(read_offer(refusal_line("wrong token")).error().message,
            "refused by the server: wrong token");
}

TEST(HandoverGid, of_ipv4_is_mapped) {
  EXPECT_EQ(wire::to_string(gid("192.0.2.1")), "::ffff:192.0.2.1");
  for (const char* text : {"192.0.2.1", "2001:db8::1", "fe80::1"})
    EXPECT_EQ(wire::to_string(ip_of(gid(text))), text);
}

// Over loopback.

class HandoverDoor : public testing::Test {
 protected:
  static Admission at_loopback() {
    return {.address = "127.0.0.1", .port = 0, .token = example_hello().token, .accepted = {}};
  }
  void open(Admission admission = at_loopback()) {
    auto listener = ClientListener::listen(std::move(admission));
    ASSERT_TRUE(listener) << listener.error().message;
    listener_.emplace(std::move(*listener));
    where_ = "127.0.0.1:" + std::to_string(listener_->port());
  }
  [[nodiscard]] Client client() const { return Client::connect(where_, 5s).value(); }
  [[nodiscard]] std::vector<Link> silent(int count) const {
    std::vector<Link> links;
    for (int i = 0; i < count; ++i) links.push_back(connect_to(where_, 5s).value());
    return links;
  }
  /// What open() says while the server polls.
  std::string refusal_of(const Hello& hello, std::string_view busy = {}) {
    Client asking = client();
    auto answer = std::async(std::launch::async, [&]() -> std::string {
      const auto offer = asking.open(hello, 5s, kGoOn);
      return offer ? "" : offer.error().message;
    });
    while (answer.wait_for(0s) != std::future_status::ready)
      EXPECT_FALSE(listener_->poll(10ms, busy)) << "was admitted";
    return answer.get();
  }

  std::optional<ClientListener> listener_;
  std::string where_;
};

TEST_F(HandoverDoor, admits_a_client_whose_session_then_ends_in_order) {
  open();
  const Done done{.messages = {1000, 1000}, .bytes = 8'192'000, .signed_frames = {}};
  Client client = this->client();
  auto run = std::async(std::launch::async, [&]() -> Result<Report> {
    const auto offer = client.open(example_hello(), 5s, kGoOn);
    if (!offer) return std::unexpected(offer.error());
    EXPECT_EQ(*offer, example_offer());
    EXPECT_TRUE(client.check());
    return client.finish(done, 5s, kGoOn);
  });
  auto admitted = listener_->poll(5s);
  ASSERT_TRUE(admitted);
  EXPECT_EQ(admitted->hello, example_hello());
  EXPECT_EQ(wire::to_string(admitted->peer), "127.0.0.1");
  ASSERT_TRUE(admitted->link.send(line_of(example_offer())));
  const auto line = admitted->link.receive(5s, kGoOn);
  ASSERT_TRUE(line) << line.error().message;
  EXPECT_EQ(read_done(*line).value(), done);
  ASSERT_TRUE(admitted->link.send(line_of(example_report())));
  EXPECT_EQ(run.get().value(), example_report());
}

TEST_F(HandoverDoor, refuses_with_a_reason) {
  open();
  Hello wrong = example_hello();
  wrong.token = "0123456789abcdee";
  EXPECT_THAT(refusal_of(wrong), HasSubstr("refused by the server: wrong token"));
  EXPECT_THAT(listener_->take_refusals(),
              testing::ElementsAre(HasSubstr("127.0.0.1: wrong token")));
  EXPECT_THAT(refusal_of(example_hello(), "a session runs"),
              HasSubstr("refused by the server: a session runs"));
  wrong = example_hello();
  wrong.mtu = 1500;
  EXPECT_THAT(refusal_of(wrong), HasSubstr("\"mtu\""));
  wrong = example_hello();
  wrong.token = std::string(kMostBytes, 'x');
  EXPECT_THAT(refusal_of(wrong), HasSubstr("at most 65536 bytes"));
}

TEST_F(HandoverDoor, refuses_addresses_that_are_not_accepted) {
  Admission admission = at_loopback();
  admission.accepted = {*wire::parse_ip("192.0.2.7")};
  open(std::move(admission));
  EXPECT_THAT(refusal_of(example_hello()), HasSubstr("127.0.0.1 is not an accepted address"));
  admission = at_loopback();
  admission.accepted = {*wire::parse_ip("192.0.2.7"), *wire::parse_ip("127.0.0.1")};
  open(std::move(admission));
  Client client = this->client();
  auto opened = std::async(std::launch::async,
                           [&] { return client.open(example_hello(), 5s, kGoOn).has_value(); });
  auto admitted = listener_->poll(5s);
  ASSERT_TRUE(admitted);
  ASSERT_TRUE(admitted->link.send(line_of(example_offer())));
  EXPECT_TRUE(opened.get());
}

TEST_F(HandoverDoor, admits_beside_connections_that_say_nothing) {
  Admission admission = at_loopback();
  admission.most_waiting = 8;
  open(std::move(admission));
  const std::vector<Link> flood = silent(100);
  Link client = connect_to(where_, 5s).value();
  ASSERT_TRUE(client.send(line_of(example_hello())));
  EXPECT_TRUE(listener_->poll(5s));
}

TEST_F(HandoverDoor, closes_connections_that_say_nothing_in_time) {
  Admission admission = at_loopback();
  admission.timeout = 50ms;
  open(std::move(admission));
  std::vector<Link> links = silent(3);
  EXPECT_FALSE(listener_->poll(100ms));
  for (Link& link : links) {
    const auto line = link.receive(5s, kGoOn);
    ASSERT_FALSE(line);
    EXPECT_THAT(line.error().message, HasSubstr("has closed it"));
  }
}

TEST_F(HandoverDoor, notices_that_the_other_side_left) {
  open();
  std::optional<Client> client(this->client());
  auto opening = std::async(std::launch::async,
                            [&] { return client->open(example_hello(), 5s, kGoOn).has_value(); });
  auto admitted = listener_->poll(5s);
  ASSERT_TRUE(admitted);
  ASSERT_TRUE(admitted->link.send(line_of(example_offer())));
  ASSERT_TRUE(opening.get());
  client.reset();
  const auto line = admitted->link.receive(5s, kGoOn);
  ASSERT_FALSE(line);
  EXPECT_THAT(line.error().message, HasSubstr("has closed it"));
}

TEST_F(HandoverDoor, that_is_not_there_is_named) {
  open();
  listener_.reset();
  const auto client = Client::connect(where_, 5s);
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().exit, ExitCode::environment);
  EXPECT_THAT(client.error().message, HasSubstr("is `roce-endpoint serve` running there?"));
  for (const char* wrong :
       {"", ":1", "host:", "host:0", "host:65536", "host:x", "[::1", "[::1]1"}) {
    const auto refused = Client::connect(wrong, 5s);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("expected HOST, HOST:PORT or [IPV6]:PORT"));
  }
}

}  // namespace
}  // namespace lw::test::handover_test
