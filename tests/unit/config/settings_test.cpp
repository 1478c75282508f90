// SPDX-License-Identifier: BSD-3-Clause
#include "config/toml/settings.h"

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "config/toml/document.h"
#include "core/time.h"

namespace lw::config {
namespace settings_test {

struct Turn {
  std::uint32_t weight = 1;
  static const FigureTable& figures();
};

struct Limits {
  std::uint64_t bytes = 100;
  static const FigureTable& figures();
};

enum class Order : std::uint8_t { kept, free };
constexpr std::pair<std::string_view, Order> kOrders[] = {{"kept", Order::kept},
                                                          {"free", Order::free}};

struct Link {
  std::string name = "link";  // not a setting
  Duration delay{};
  std::optional<std::uint32_t> depth;
  Order order = Order::kept;
  bool pause = false;
  double weight = 1;
  std::optional<Limits> limits;
  std::vector<Turn> turns;
  static const FigureTable& figures();
};

const FigureTable& Turn::figures() {
  static constexpr Figure kRows[] = {
      FigureOf<Turn>::of<&Turn::weight>("weight", "Of a turn.").from(1, 9)};
  static constexpr FigureTable kTable{"A turn.", kRows};
  return kTable;
}

const FigureTable& Limits::figures() {
  static constexpr Figure kRows[] = {
      FigureOf<Limits>::of<&Limits::bytes>("bytes", "Of a queue.", Unit::bytes).from(1, 1e9)};
  static constexpr FigureTable kTable{"Limits.", kRows};
  return kTable;
}

const FigureTable& Link::figures() {
  using Row = FigureOf<Link>;
  static constexpr Figure kRows[] = {
      Row::of<&Link::name>("name", "Its name."),
      Row::of<&Link::delay>("delay", "Its delay.", Unit::ns).from(0, 1e9),
      Row::of<&Link::depth>("depth", "Its depth.").from(2, 8),
      Row::word<&Link::order, kOrders>("order", "Of frames."),
      Row::of<&Link::pause>("pause", "It pauses.").set_to(),
      Row::of<&Link::weight>("weight", "Its weight.").from(0.5, 10),
      Row::of<&Link::limits>("limits", "Of its queue.").set_to(),
      Row::of<&Link::turns>("turns", "Of its classes.").from(0, 2)};
  static constexpr FigureTable kTable{"A link.", kRows};
  return kTable;
}

/// The errors of reading a text; empty: none.
std::string read(std::string_view text, Link& link) {
  auto document = Document::parse(text, "x.toml");
  if (!document) return document.error().message;
  const Table root = document->root();
  read_settings(root, link);
  root.finish();
  const auto verdict = document->verdict();
  return verdict ? "" : verdict.error().message;
}

TEST(Settings, SetsValuesTablesAndLists) {
  Link link;
  ASSERT_EQ(read(R"(
delay = "5us"
depth = 0x4
order = "free"
pause = true
weight = 2.5
limits = { bytes = "64kB" }
turns = [{ weight = 3 }, {}]
)",
                 link),
            "");
  EXPECT_EQ(link.delay, Duration(5000));
  EXPECT_EQ(link.depth, 4u);
  EXPECT_EQ(link.order, Order::free);
  EXPECT_TRUE(link.pause);
  EXPECT_EQ(link.weight, 2.5);
  ASSERT_TRUE(link.limits);
  EXPECT_EQ(link.limits->bytes, 64'000u);
  ASSERT_EQ(link.turns.size(), 2u);
  EXPECT_EQ(link.turns[0].weight, 3u);
  EXPECT_EQ(link.turns[1].weight, 1u);
}

TEST(Settings, LeavesWhatIsAbsent) {
  Link link;
  link.delay = Duration(7);
  link.depth = 5;
  ASSERT_EQ(read("pause = false\n", link), "");
  EXPECT_EQ(link.delay, Duration(7));
  EXPECT_EQ(link.depth, 5u);
  EXPECT_FALSE(link.limits);
  EXPECT_TRUE(link.turns.empty());
}

TEST(Settings, RefusesWithPositionAndBounds) {
  const auto complaint = [](std::string_view text) {
    Link link;
    return read(text, link);
  };
  EXPECT_EQ(complaint(R"(delay = "2s")"),
            R"(x.toml:1:9: delay: expected a time up to 1s, found "2s")");
  EXPECT_EQ(complaint("depth = 9"),
            "x.toml:1:9: depth: expected a whole number from 2 to 8, found 9");
  EXPECT_EQ(complaint("\norder = \"fre\""),
            R"(x.toml:2:9: order: expected one of kept, free, found "fre": did you mean "free"?)");
  EXPECT_EQ(complaint("pause = 1"), "x.toml:1:9: pause: expected true or false, found 1");
  EXPECT_EQ(complaint(R"(weight = "heavy")"),
            R"(x.toml:1:10: weight: expected a number from 0.5 to 10, found "heavy")");
  EXPECT_EQ(complaint("turns = [{ weight = 0 }]"),
            "x.toml:1:21: weight: expected a whole number from 1 to 9, found 0");
  EXPECT_EQ(complaint("turns = [{}, {}, {}]"),
            "x.toml:1:9: turns: expected 0 to 2 tables, found 3");
  EXPECT_EQ(complaint("limits = { byte = 1 }"),
            R"(x.toml:1:12: unknown key "byte": did you mean "bytes"?)");
  EXPECT_EQ(complaint(R"(name = "a")"), R"(x.toml:1:1: unknown key "name")");
}

}  // namespace settings_test
}  // namespace lw::config
