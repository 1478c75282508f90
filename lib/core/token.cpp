// SPDX-License-Identifier: BSD-3-Clause
#include "core/token.h"

#include <array>
#include <sys/random.h>

#include "core/input.h"

namespace lw {

bool same_token(std::string_view expected, std::string_view given) noexcept {
  unsigned difference = expected.size() == given.size() ? 0 : 1;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const char other = given.empty() ? '\0' : given[i % given.size()];
    difference |= static_cast<unsigned char>(expected[i]) ^ static_cast<unsigned char>(other);
  }
  return difference == 0;
}

Result<std::string> make_token(std::string_view file_option) {
  std::array<unsigned char, 16> bits{};
  if (getrandom(bits.data(), bits.size(), 0) != static_cast<ssize_t>(bits.size()))
    return fail("the system gives no random bytes for a token: pass " + std::string(file_option),
                ExitCode::environment);
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string token;
  for (const unsigned char byte : bits) {
    token += kDigits[byte >> 4];
    token += kDigits[byte & 15];
  }
  return token;
}

Result<std::string> read_token_file(std::string_view option, const std::string& file_name) {
  constexpr std::size_t kLeast = 16, kMost = 256;
  auto token = read_first_line(file_name, kLeast, kMost);
  if (token) return token;
  return fail(std::string(option) + ": " + token.error().message, token.error().exit);
}

}  // namespace lw
