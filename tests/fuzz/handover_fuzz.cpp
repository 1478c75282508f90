// SPDX-License-Identifier: BSD-3-Clause
// Any line as each kind of line that RDMA peers exchange: an error has a message, and what is read
// is written so that it reads the same.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/token.h"
#include "gen/perf/session/handover.h"

namespace {

template <class Read>
void check(std::string_view line, Read read) {
  const auto first = read(line);
  if (!first) {
    if (first.error().message.empty()) std::abort();
    return;
  }
  const auto again = read(line_of(*first));
  if (!again || !(*again == *first)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lw::gen::handover;
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  check(line, read_hello);
  check(line, read_offer);
  check(line, read_done);
  check(line, read_report);
  if (lw::same_token("0123456789abcdef", line) != (line == "0123456789abcdef")) std::abort();
  return 0;
}
