// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as a compact ledger: every record that is read can be said, or the error has words.
#include <cstdint>
#include <cstdlib>

#include "impair/record/ledger_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span file(reinterpret_cast<const std::byte*>(data), size);
  const auto end = lw::impair::binary_ledger::read(
      file,
      [](const lw::emulator::LedgerRecord& record, const lw::impair::RuleNames& names) {
        if (lw::impair::ledger_line(record, names, 0).empty()) std::abort();
      },
      [](std::string_view change) {
        if (change.empty()) std::abort();
      });
  if (!end && end.error().empty()) std::abort();
  return 0;
}
