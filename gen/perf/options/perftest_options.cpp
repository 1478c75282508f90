// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/options/perftest_options.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace lw::gen::perftest {
namespace {

constexpr std::string_view kDevice = "the path and the port are roce-gen's own options";
constexpr std::string_view kMemory = "the memory of a host is not part of a run here";
constexpr std::string_view kOutput = "shapes the output only";
constexpr std::string_view kMoment = "how connections are made changes no figure";
constexpr std::string_view kCrypto = "no packet is encrypted here";
constexpr std::string_view kPosting = "how requests reach the NIC is not part of a run here";
constexpr std::string_view kOneWay = "data goes from the client to the server, or both ways";

constexpr auto kOptions = std::to_array<PerftestOption>({
    {"a", "all", false, Treatment::same, "--all", "2 B to 8 MiB"},
    {"A", "atomic_type", true, Treatment::same, "--op", "FETCH_AND_ADD or CMP_AND_SWAP"},
    {"b", "bidirectional", false, Treatment::same, "--bidirectional",
     "of a _bw; through a port of RC"},
    {"c", "connection", true, Treatment::same, "--transport",
     "RC; through a port also UC and UD. XRC, DC and SRD are refused"},
    {"C", "report-cycles", false, Treatment::ignored, "", "times are in microseconds"},
    {"d", "ib-dev", true, Treatment::ignored, "", kDevice},
    {"D", "duration", true, Treatment::same, "--duration", "in seconds"},
    {"e", "events", false, Treatment::ignored, "", "completions are polled"},
    {"f", "margin", true, Treatment::same, "--margin", "in seconds; a quarter of -D unless given"},
    {"F", "CPU-freq", false, Treatment::ignored, "", kOutput},
    {"g", "mcg", false, Treatment::refused, "", "multicast groups are not there"},
    {"h", "help", false, Treatment::refused, "", "give roce-gen perf --help"},
    {"H", "report-histogram", false, Treatment::ignored, "", kOutput},
    {"i", "ib-port", true, Treatment::ignored, "", kDevice},
    {"I", "inline_size", true, Treatment::ignored, "", kPosting},
    {"l", "post_list", true, Treatment::ignored, "", kPosting},
    {"L", "hop_limit", true, Treatment::refused, "", "the hop limit is 64"},
    {"m", "mtu", true, Treatment::same, "--mtu", ""},
    {"M", "MGID", true, Treatment::refused, "", "multicast groups are not there"},
    {"n", "iters", true, Treatment::same, "--iterations", "at least 5"},
    {"N", "noPeak", false, Treatment::ignored, "", kOutput},
    {"o", "outs", true, Treatment::same, "--reads",
     "the responder takes as many: --responder-reads"},
    {"O", "dualport", false, Treatment::refused, "", "a run has one port"},
    {"p", "port", true, Treatment::same, "--service", "through a port, where it is given"},
    {"q", "qp", true, Treatment::same, "--qps", ""},
    {"Q", "cq-mod", true, Treatment::ignored, "", kPosting},
    {"r", "rx-depth", true, Treatment::same, "--receives",
     "SEND in a simulation; through a port a receive is posted for each message"},
    {"R", "rdma_cm", false, Treatment::ignored, "", kMoment},
    {"s", "size", true, Treatment::same, "--size", ""},
    {"S", "sl", true, Treatment::refused, "", "frames have no priority"},
    {"t", "tx-depth", true, Treatment::same, "--tx-depth", ""},
    {"T", "tos", true, Treatment::refused, "", "the TOS of frames is not an option"},
    {"u", "qp-timeout", true, Treatment::same, "--timeout", ""},
    {"U", "report-unsorted", false, Treatment::ignored, "", kOutput},
    {"V", "version", false, Treatment::refused, "", "give roce-gen --version"},
    {"w", "limit_bw", true, Treatment::same, "--expect",
     "BW average in Gb/s with --report_gbits, otherwise in MiB/s"},
    {"W", "report-counters", true, Treatment::ignored, "", "a run has no device counters"},
    {"x", "gid-index", true, Treatment::ignored, "", kDevice},
    {"X", "vector", true, Treatment::ignored, "", "completions are polled"},
    {"y", "limit_msgrate", true, Treatment::same, "--expect", "messages per microsecond"},
    {"z", "com_rdma_cm", false, Treatment::ignored, "", kMoment},
    {"", "aes_block_size", true, Treatment::refused, "", kCrypto},
    {"", "aes_xts", false, Treatment::refused, "", kCrypto},
    {"", "burst_size", true, Treatment::refused, "", "the rate of a QP has no bursts here"},
    {"", "cpu_util", false, Treatment::ignored, "", kOutput},
    {"", "credentials_path", true, Treatment::refused, "", kCrypto},
    {"", "data_enc_key_app_path", true, Treatment::refused, "", kCrypto},
    {"", "data_enc_keys_number", true, Treatment::refused, "", kCrypto},
    {"", "disable_pcie_relaxed", false, Treatment::ignored, "", kMemory},
    {"", "dlid", true, Treatment::refused, "", "RoCE has no LIDs"},
    {"", "dont_xchg_versions", false, Treatment::ignored, "", kMoment},
    {"", "encrypt_on_tx", false, Treatment::refused, "", kCrypto},
    {"", "flow_label", true, Treatment::refused, "", "the flow label of frames is not an option"},
    {"", "force-link", true, Treatment::ignored, "", "the link is Ethernet"},
    {"", "inline_recv", true, Treatment::ignored, "", kPosting},
    {"", "ipv6", false, Treatment::ignored, "", "the family is that of --peer"},
    {"", "ipv6-addr", false, Treatment::ignored, "", "the family is that of --peer"},
    {"", "kek_path", true, Treatment::refused, "", kCrypto},
    {"", "latency_gap", true, Treatment::refused, "", "messages of a latency run have no gap"},
    {"", "log_active_dci_streams", true, Treatment::refused, "", "DC is not there"},
    {"", "log_dci_streams", true, Treatment::refused, "", "DC is not there"},
    {"", "mmap", true, Treatment::ignored, "", kMemory},
    {"", "mmap-offset", true, Treatment::ignored, "", kMemory},
    {"", "mr_per_qp", false, Treatment::ignored, "", kMemory},
    {"", "odp", false, Treatment::ignored, "", kMemory},
    {"", "out_json", false, Treatment::same, "--json", "one line a size, on standard output"},
    {"", "out_json_file", true, Treatment::same, "--json", "the file's name is ignored"},
    {"", "output", true, Treatment::ignored, "", kOutput},
    {"", "payload_file_path", true, Treatment::refused, "", "through a port give --data FILE"},
    {"", "perform_warm_up", false, Treatment::ignored, "",
     "the steady rate leaves out the start by its own rule"},
    {"", "pkey_index", true, Treatment::ignored, "", "the P_Key is 0xffff"},
    {"", "rate_limit", true, Treatment::same, "--qp-rate", "with --rate-control fixed"},
    {"", "rate_limit_type", true, Treatment::ignored, "", "the rate is that of a QP's packets"},
    {"", "rate_units", true, Treatment::same, "--qp-rate",
     "g and M (MiB/s). p, packets per second, is refused"},
    {"", "recv_post_list", true, Treatment::ignored, "", kPosting},
    {"", "report-both", false, Treatment::ignored, "", "both directions are always reported"},
    {"", "report_gbits", false, Treatment::ignored, "", "rates are always in Gb/s"},
    {"", "report-per-port", false, Treatment::refused, "", "a run has one port"},
    {"", "retry_count", true, Treatment::same, "--retries", ""},
    {"", "reversed", false, Treatment::refused, "", kOneWay},
    {"", "run_infinitely", false, Treatment::same, "--forever",
     "of a _bw; a row for each -D, which is 5 s unless given"},
    {"", "sig_before", false, Treatment::refused, "", kCrypto},
    {"", "source_ip", true, Treatment::ignored, "", "--address is the own address"},
    {"", "tclass", true, Treatment::refused, "", "the traffic class of frames is not an option"},
    {"", "typical_pkt_size", true, Treatment::refused, "", "the rate of a QP has no bursts here"},
    {"", "use_exp", false, Treatment::ignored, "", kPosting},
    {"", "use_hugepages", false, Treatment::ignored, "", kMemory},
    {"", "use_old_post_send", false, Treatment::ignored, "", kPosting},
    {"", "use-srq", false, Treatment::refused, "", "each QP has its own receives"},
    {"", "use_cuda", true, Treatment::refused, "", kMemory},
    {"", "use_cuda_dmabuf", false, Treatment::refused, "", kMemory},
    {"", "use_rocm", true, Treatment::refused, "", kMemory},
    {"", "vlan_en", false, Treatment::refused, "", "frames have no VLAN tag here"},
    {"", "vlan_pcp", true, Treatment::refused, "", "frames have no VLAN tag here"},
    {"", "wait_destroy", true, Treatment::ignored, "", kMoment},
});

std::string_view word_of(Treatment treatment) noexcept {
  switch (treatment) {
    case Treatment::same:
      return "same";
    case Treatment::ignored:
      return "ignored";
    case Treatment::refused:
      break;
  }
  return "refused";
}

}  // namespace

std::span<const PerftestOption> options() noexcept { return kOptions; }

const PerftestOption* by_letter(char letter) noexcept {
  const auto found = std::ranges::find_if(kOptions, [letter](const PerftestOption& o) {
    return o.letter == std::string_view(&letter, 1);
  });
  return found == kOptions.end() ? nullptr : &*found;
}

const PerftestOption* by_name(std::string_view name) noexcept {
  const auto found = std::ranges::find(kOptions, name, &PerftestOption::name);
  return found == kOptions.end() ? nullptr : &*found;
}

std::string written(const PerftestOption& option) {
  return option.letter.empty() ? fmt::format("--{}", option.name)
                               : fmt::format("-{}, --{}", option.letter, option.name);
}

std::string manual_table() {
  std::string text = "| perftest | here | |\n|---|---|---|\n";
  for (const PerftestOption& option : kOptions) {
    const std::string option_text = option.letter.empty()
                                        ? fmt::format("`--{}`", option.name)
                                        : fmt::format("`-{}`, `--{}`", option.letter, option.name);
    const std::string here = option.ours.empty() ? std::string(word_of(option.treatment))
                                                 : fmt::format("`{}`", option.ours);
    text += fmt::format("| {} | {} | {} |\n", option_text, here, option.remark);
  }
  return text;
}

}  // namespace lw::gen::perftest
