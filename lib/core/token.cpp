// SPDX-License-Identifier: BSD-3-Clause
#include "core/token.h"

#include <array>
#include <fstream>
#include <sys/random.h>

#include "core/output.h"

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
  note_input(file_name);
  std::ifstream file(file_name);
  std::string token;
  const std::string where = std::string(option) + ": " + file_name;
  if (!file || !std::getline(file, token))
    return fail(where + ": can't be read, or is empty", ExitCode::environment);
  constexpr std::size_t kLeast = 16, kMost = 256;
  if (token.size() < kLeast || token.size() > kMost)
    return fail(where + ": expected a line of 16 to 256 characters, found " +
                std::to_string(token.size()));
  return token;
}

}  // namespace lw
