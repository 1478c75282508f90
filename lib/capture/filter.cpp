// SPDX-License-Identifier: BSD-3-Clause
#include "capture/filter.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>
#include <pcap/pcap.h>

#include "capture/filter_words.h"
#include "capture/limits.h"
#include "core/names.h"

namespace lw::capture {
namespace {

constexpr int kSnapLength = 262144;

/// Returns libpcap's number of a link type, which can differ from the number in files.
/// (pcap-linktype(7))
int dlt_of(int link_type) noexcept { return link_type == kLinkTypeRaw ? DLT_RAW : link_type; }

struct ClosePcap {
  void operator()(pcap_t* handle) const noexcept { pcap_close(handle); }
};

/// True if the program asks the kernel about a frame that is being received (its direction, its
/// interface): loads at these offsets, beyond any frame. (BPF_NET_OFF and SKF_AD_OFF of Linux)
bool needs_live_capture(const bpf_program& program) noexcept {
  constexpr bpf_u_int32 kBeyondFrames = 0x8000'0000;
  return std::ranges::any_of(
      std::span(program.bf_insns, program.bf_len), [](const bpf_insn& instruction) {
        return BPF_CLASS(instruction.code) == BPF_LD && BPF_MODE(instruction.code) == BPF_ABS &&
               instruction.k >= kBeyondFrames;
      });
}

}  // namespace

void Filter::Free::operator()(bpf_program* program) const noexcept {
  pcap_freecode(program);
  delete program;
}

Result<Filter> Filter::compile(const std::string& expression, int link_type, FilterNames names) {
  const auto refuse = [&](std::string_view why) {
    return fail(fmt::format("filter \"{}\": {}", excerpt(expression), why));
  };
  if (const auto words = check_filter_words(expression, names == FilterNames::looked_up); !words)
    return refuse(words.error());
  const std::unique_ptr<pcap_t, ClosePcap> handle(pcap_open_dead(dlt_of(link_type), kSnapLength));
  if (!handle) return fail("libpcap has no memory for a filter", ExitCode::environment);
  const auto program = [&](bool optimized) -> std::unique_ptr<bpf_program, Free> {
    std::unique_ptr<bpf_program, Free> compiled(new bpf_program{});
    const int status = pcap_compile(handle.get(), compiled.get(), expression.c_str(), optimized,
                                    PCAP_NETMASK_UNKNOWN);
    return status == 0 ? std::move(compiled) : nullptr;
  };
  auto whole = program(false);
  if (whole && needs_live_capture(*whole))
    return refuse(
        "inbound, outbound and ifindex ask a kernel that is capturing, and a frame does not say: "
        "they would match nothing here");
  if (whole && whole->bf_len <= kMostOptimized) whole = program(true);
  if (!whole) return refuse(pcap_geterr(handle.get()));
  return Filter(std::move(whole));
}

std::vector<BpfInstruction> Filter::instructions() const {
  std::vector<BpfInstruction> result;
  for (const bpf_insn& i : std::span(program_->bf_insns, program_->bf_len))
    result.push_back({i.code, i.jt, i.jf, i.k});
  return result;
}

bool Filter::matches(Bytes bytes, std::uint32_t wire_length) const noexcept {
  pcap_pkthdr header{};
  header.caplen = static_cast<bpf_u_int32>(bytes.size());
  header.len = wire_length;
  return pcap_offline_filter(program_.get(), &header,
                             reinterpret_cast<const u_char*>(bytes.data())) != 0;
}

}  // namespace lw::capture
