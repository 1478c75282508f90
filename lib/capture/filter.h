// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "capture/record.h"
#include "core/bpf.h"
#include "core/error.h"

struct bpf_program;

namespace lw::capture {

/// What happens to the names of hosts, networks, ports and protocols in a filter. libpcap looks
/// them up, and waits for name servers.
enum class FilterNames : std::uint8_t { refused, looked_up };

/// A filter in tcpdump's syntax, compiled by libpcap. As in tcpdump, "udp port 4791" looks at
/// untagged frames and "vlan and udp port 4791" at tagged ones. Immutable; matches() may be called
/// by any thread.
class Filter {
 public:
  /// Compiles a filter for frames of this LINKTYPE, in up to a second. A usage error contains the
  /// start of the expression, and libpcap's message or that of check_filter_words(). Refused is
  /// also what only a live capture knows (inbound, ifindex), as libpcap refuses it for files.
  static Result<Filter> compile(const std::string& expression, int link_type,
                                FilterNames names = FilterNames::refused);

  /// The compiled filter, for the interpreter of core/bpf.h.
  [[nodiscard]] std::vector<BpfInstruction> instructions() const;

  [[nodiscard]] bool matches(Bytes bytes, std::uint32_t wire_length) const noexcept;

 private:
  struct Free {
    void operator()(bpf_program* program) const noexcept;
  };
  explicit Filter(std::unique_ptr<bpf_program, Free> program) : program_(std::move(program)) {}
  std::unique_ptr<bpf_program, Free> program_;
};

}  // namespace lw::capture
