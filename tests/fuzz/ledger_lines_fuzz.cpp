// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as lines of a ledger.
#include <cstdlib>

#include "dissect/compare/ledger_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lw;
  std::string_view text{reinterpret_cast<const char*>(data), size};
  dissect::LedgerReader reader;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const auto entry = reader.read(text.substr(0, end));
    if (!entry && entry.error().empty()) std::abort();
    if (entry && *entry && (*entry)->rule >= reader.rules().size()) std::abort();
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return 0;
}
