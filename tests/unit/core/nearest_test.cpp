// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <string>

#include <gtest/gtest.h>

#include "core/limits.h"
#include "core/names.h"

namespace lw {
namespace {

constexpr std::array<std::string_view, 5> kKeys = {"rate", "burst", "dst_qp", "src_qp",
                                                   "first_psn"};

TEST(Nearest, FindsWhatWasMeant) {
  EXPECT_EQ(nearest("dst_pq", kKeys), "dst_qp");
  EXPECT_EQ(nearest("rat", kKeys), "rate");
  EXPECT_EQ(nearest("brust", kKeys), "burst");
  EXPECT_EQ(nearest("firstpsn", kKeys), "first_psn");
}

TEST(Nearest, StaysSilentWhenNothingIsNear) {
  EXPECT_EQ(nearest("wavelength", kKeys), "");
  EXPECT_EQ(nearest("", kKeys), "");
  EXPECT_EQ(nearest(std::string(10'000, 'r'), kKeys), "");
  EXPECT_EQ(nearest("rate", {}), "");
}

TEST(FirstCharacter, IsWholeOrEscaped) {
  EXPECT_EQ(first_character("a1"), "a");
  EXPECT_EQ(first_character("\u00e9x"), "\u00e9");
  EXPECT_EQ(first_character("\U0001f600"), "\U0001f600");
  EXPECT_EQ(first_character("\xc3("), "\\xc3");  // cut, or not UTF-8 at all
  EXPECT_EQ(first_character("\xc3"), "\\xc3");
  EXPECT_EQ(first_character("\xff"), "\\xff");
  EXPECT_EQ(first_character(std::string_view("\0", 1)), "\\x00");
}

TEST(BoundedMessage, KeepsStartAndEndOfLongOnes) {
  EXPECT_EQ(bounded_message("name: found \"\x1b[2J\" again"), "name: found \"?[2J\" again");
  const std::string whole(kLongestMessage, 'x');
  EXPECT_EQ(bounded_message(whole), whole);
  const std::string cut =
      bounded_message("name: found \"" + std::string(500'000, 'x') + "\" again");
  EXPECT_LE(cut.size(), kLongestMessage);
  EXPECT_TRUE(cut.starts_with("name: found \"xxx")) << cut;
  EXPECT_TRUE(cut.ends_with("xxx\" again")) << cut;
  std::string umlauts;
  for (int i = 0; i < 1'000; ++i) umlauts += "\u00e9";
  for (const std::string before : {"", "a"}) {
    const std::string kept = bounded_message(before + umlauts);
    EXPECT_EQ(kept.size() % 2, before.size() ? 0U : 1U) << "a character was cut";
  }
}

}  // namespace
}  // namespace lw
