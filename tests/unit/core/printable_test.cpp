// SPDX-License-Identifier: BSD-3-Clause
#include "core/printable.h"

#include <gtest/gtest.h>

namespace lw {
namespace printable_test {

TEST(Visible, TextsOfPeopleStay) {
  for (const char* text :
       {"", "long haul", "M\u00fcnchen \u2192 \u5317\u4eac", "\U0001f680", "a\u00a0b"})
    EXPECT_EQ(visible(text), text);
}

TEST(Visible, WhatATerminalObeysIsHidden) {
  EXPECT_EQ(visible("a\x1b[2Jb\a\u009b31mc\r\nfake line"), "a?[2Jb??31mc??fake line");
  EXPECT_EQ(visible("e\x1b]0;t\a"), "e?]0;t?");
  EXPECT_EQ(visible(std::string_view("\0\t\x7f", 3)), "???");
  EXPECT_EQ(visible("x\u202egnp.exe\u2066\u2028\u200f\u061c"), "x?gnp.exe????");
  EXPECT_EQ(visible("\uffff\ufffe"), "??");
}

TEST(Visible, BytesThatAreNotUtf8AreHidden) {
  for (const char* bytes : {"\x9b", "\xc3", "\xff", "\xc1"}) EXPECT_EQ(visible(bytes), "?");
  EXPECT_EQ(visible("\xe2\x82"), "??");
  EXPECT_EQ(visible("\xed\xa0\x80"), "???");       // a surrogate
  EXPECT_EQ(visible("\xc0\x9b"), "??");            // an overlong ESC
  EXPECT_EQ(visible("\xf4\x90\x80\x80"), "????");  // beyond Unicode
  EXPECT_EQ(visible("\xc3\x1b\xa4"), "???");
}

TEST(Visible, LineEndsStayWhereTheyAreAskedFor) {
  EXPECT_EQ(visible("a\nb\r\x1b", LineEnds::kept), "a\nb??");
}

}  // namespace printable_test
}  // namespace lw
