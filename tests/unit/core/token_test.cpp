// SPDX-License-Identifier: BSD-3-Clause
#include "core/token.h"

#include <gtest/gtest.h>

namespace lw {
namespace token_test {

TEST(Token, is_compared_as_a_whole) {
  EXPECT_TRUE(same_token("secret", "secret"));
  for (const char* other : {"", "s", "secre", "secreT", "Secret", "secretsecret"})
    EXPECT_FALSE(same_token("secret", other)) << other;
}

TEST(Token, is_new_each_time) {
  const std::string token = make_token().value();
  EXPECT_EQ(token.size(), 32u);
  EXPECT_EQ(token.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_NE(token, make_token().value());
}

}  // namespace token_test
}  // namespace lw
