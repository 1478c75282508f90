// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/options/perftest_options.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace lw::gen::perftest {
namespace {

constexpr std::string_view kDevice = "the path and the port are roce-gen's own options";
constexpr std::string_view kMemory = "the memory of a host is not part of a run here";
constexpr std::string_view kGpu = "messages lie in the memory of this host, in no GPU";
constexpr std::string_view kCores = "start roce-gen itself under taskset or numactl";
constexpr std::string_view kRaw = "of raw_ethernet programs: for such frames give roce-gen run";
constexpr std::string_view kMulticast = "multicast groups are not there";
constexpr std::string_view kClass = "packets of a simulation have no class";
constexpr std::string_view kOutput = "shapes the output only";
constexpr std::string_view kMoment = "how connections are made changes no figure";
constexpr std::string_view kCrypto = "no packet is encrypted here";
constexpr std::string_view kPosting = "how requests reach the NIC is not part of a run here";
constexpr std::string_view kOneWay = "data goes from the client to the server, or both ways";

constexpr std::string_view kFork = "a fork";

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
    {"B", "source_mac", true, Treatment::refused, "", kRaw},
    {"E", "dest_mac", true, Treatment::refused, "", kRaw},
    {"g", "mcg", false, Treatment::refused, "", kMulticast},
    {"G", "use_rss", false, Treatment::refused, "", kRaw},
    {"h", "help", false, Treatment::refused, "", "give roce-gen perf --help"},
    {"H", "report-histogram", false, Treatment::ignored, "", kOutput},
    {"H", "report-histogrm", false, Treatment::ignored, "", kOutput},
    {"i", "ib-port", true, Treatment::ignored, "", kDevice},
    {"I", "inline_size", true, Treatment::ignored, "", kPosting},
    {"j", "source_ip", true, Treatment::ignored, "", "--address is the own address"},
    {"J", "dest_ip", true, Treatment::refused, "", kRaw},
    {"k", "source_port", true, Treatment::refused, "", kRaw},
    {"K", "dest_port", true, Treatment::refused, "", kRaw},
    {"l", "post_list", true, Treatment::ignored, "", kPosting},
    {"L", "hop_limit", true, Treatment::of_port, "--hop-limit", kClass},
    {"m", "mtu", true, Treatment::same, "--mtu", ""},
    {"M", "MGID", true, Treatment::refused, "", kMulticast},
    {"n", "iters", true, Treatment::same, "--iterations", "at least 5"},
    {"N", "noPeak", false, Treatment::ignored, "", kOutput},
    {"o", "outs", true, Treatment::same, "--reads",
     "the responder takes as many: --responder-reads"},
    {"O", "dualport", false, Treatment::refused, "", "a run has one port"},
    {"P", "client", false, Treatment::refused, "", kRaw},
    {"p", "port", true, Treatment::same, "--service", "through a port, where it is given"},
    {"q", "qp", true, Treatment::same, "--qps", ""},
    {"Q", "cq-mod", true, Treatment::ignored, "", kPosting},
    {"r", "rx-depth", true, Treatment::same, "--receives",
     "SEND in a simulation; through a port a receive is posted for each message"},
    {"R", "rdma_cm", false, Treatment::ignored, "", kMoment},
    {"s", "size", true, Treatment::same, "--size", ""},
    {"S", "sl", true, Treatment::of_port, "--sl", kClass},
    {"t", "tx-depth", true, Treatment::same, "--tx-depth", ""},
    {"T", "tos", true, Treatment::of_port, "--tos", kClass},
    {"u", "qp-timeout", true, Treatment::same, "--timeout", ""},
    {"U", "report-unsorted", false, Treatment::ignored, "", kOutput},
    {"v", "mac_fwd", false, Treatment::refused, "", kRaw},
    {"V", "version", false, Treatment::refused, "", "give roce-gen --version"},
    {"w", "limit_bw", true, Treatment::same, "--expect",
     "BW average in Gb/s with --report_gbits, otherwise in MiB/s"},
    {"W", "report-counters", true, Treatment::ignored, "", "a run has no device counters"},
    {"x", "gid-index", true, Treatment::ignored, "", kDevice},
    {"X", "vector", true, Treatment::ignored, "", "completions are polled"},
    {"y", "limit_msgrate", true, Treatment::same, "--expect", "messages per microsecond"},
    {"Y", "ethertype", true, Treatment::refused, "", kRaw},
    {"z", "com_rdma_cm", false, Treatment::ignored, "", kMoment},
    {"z", "comm_rdma_cm", false, Treatment::ignored, "", kMoment},
    {"Z", "server", false, Treatment::refused, "", kRaw},
    {"", "aes_block_size", true, Treatment::refused, "", kCrypto},
    {"", "aes_xts", false, Treatment::refused, "", kCrypto},
    {"", "bind_source_ip", true, Treatment::ignored, "", "--address is the own address", "23.07"},
    {"", "burst_size", true, Treatment::refused, "", "the rate of a QP has no bursts here"},
    {"", "congest_type", true, Treatment::refused, "",
     "an hns device's own congestion control: give --rate-control", "24.07"},
    {"", "connectionless", false, Treatment::refused, "", kMulticast, "25.01"},
    {"", "cpu_id", true, Treatment::ignored, "", kMemory, "25.10"},
    {"", "cpu_util", false, Treatment::ignored, "", kOutput},
    {"", "cqe_poll", true, Treatment::ignored, "", "completions are polled", "25.04"},
    {"", "credentials_path", true, Treatment::refused, "", kCrypto},
    {"", "cuda_mem_type", true, Treatment::unsimulated, "", kGpu, "25.04"},
    {"", "data_enc_key_app_path", true, Treatment::refused, "", kCrypto},
    {"", "data_enc_keys_number", true, Treatment::refused, "", kCrypto},
    {"", "data_validation", false, Treatment::ignored, "",
     "through a port messages are compared byte by byte in any case: see --verify", "26.04"},
    {"", "data_validation_debug", false, Treatment::ignored, "",
     "through a port messages are compared byte by byte in any case: see --verify", "26.04"},
    {"", "disable_dynamic_polling", false, Treatment::ignored, "", "completions are polled",
     "25.10"},
    {"", "disable_fcs", false, Treatment::refused, "", kRaw},
    {"", "disable_numa", false, Treatment::ignored, "", kCores, "26.04"},
    {"", "disable_pcie_relaxed", false, Treatment::ignored, "", kMemory},
    {"", "dlid", true, Treatment::ignored, "", "RoCE has no LIDs"},
    {"", "dont_xchg_versions", false, Treatment::ignored, "", kMoment},
    {"", "encrypt_on_tx", false, Treatment::refused, "", kCrypto},
    {"", "flow_label", true, Treatment::of_port, "--flow_label", kClass},
    {"", "flows", true, Treatment::refused, "", kRaw},
    {"", "flows_burst", true, Treatment::refused, "", kRaw},
    {"", "force-link", true, Treatment::ignored, "", "the link is Ethernet"},
    {"", "gpu_touch", true, Treatment::unsimulated, "", kGpu, "25.04"},
    {"", "inline_recv", true, Treatment::ignored, "", kPosting},
    {"", "ipv6", false, Treatment::ignored, "", "the family is that of --peer"},
    {"", "ipv6-addr", false, Treatment::ignored, "", "the family is that of --peer"},
    {"", "kek_path", true, Treatment::refused, "", kCrypto},
    {"", "latency_gap", true, Treatment::refused, "", "messages of a latency run have no gap"},
    {"", "local_ip", true, Treatment::refused, "", kRaw},
    {"", "local_mac", true, Treatment::refused, "", kRaw},
    {"", "local_port", true, Treatment::refused, "", kRaw},
    {"", "log_active_dci_streams", true, Treatment::refused, "", "DC is not there"},
    {"", "log_dci_streams", true, Treatment::refused, "", "DC is not there"},
    {"", "mmap", true, Treatment::ignored, "", kMemory},
    {"", "mmap-offset", true, Treatment::ignored, "", kMemory},
    {"", "mr_per_qp", false, Treatment::ignored, "", kMemory},
    {"", "no_ddp", false, Treatment::ignored, "", "a path here keeps the order of packets",
     "25.01"},
    {"", "no_enhanced_reorder", false, Treatment::ignored, "",
     "a path here keeps the order of packets", "25.10"},
    {"", "no_lock", false, Treatment::ignored, "", kPosting, "24.10"},
    {"", "num_of_mrs", true, Treatment::ignored, "", kMemory, kFork},
    {"", "numa_node", true, Treatment::ignored, "", kCores, "26.04"},
    {"", "odp", false, Treatment::ignored, "", kMemory},
    {"", "opencl_platform_id", true, Treatment::unsimulated, "", kGpu, "25.04"},
    {"", "out_json", false, Treatment::same, "--json", "one line a size, on standard output"},
    {"", "out_json_file", true, Treatment::same, "--json", "the file's name is ignored"},
    {"", "output", true, Treatment::ignored, "", kOutput},
    {"", "payload_file_path", true, Treatment::unsimulated, "", "through a port give --data FILE"},
    {"", "perform_warm_up", false, Treatment::ignored, "",
     "the steady rate leaves out the start by its own rule"},
    {"", "ph", true, Treatment::ignored, "", kMemory, "25.10"},
    {"", "pin_cores", true, Treatment::ignored, "", kCores, "26.04"},
    {"", "pkey_index", true, Treatment::ignored, "", "--p-key is the key itself"},
    {"", "promiscuous", false, Treatment::refused, "", kRaw},
    {"", "rate_limit", true, Treatment::same, "--qp-rate", "with --rate-control fixed"},
    {"", "rate_limit_type", true, Treatment::ignored, "", "the rate is that of a QP's packets"},
    {"", "rate_units", true, Treatment::same, "--qp-rate",
     "g and M (MiB/s). p, packets per second, is refused"},
    {"", "raw_ipv6", false, Treatment::refused, "", kRaw},
    {"", "raw_mcast", false, Treatment::refused, "", kRaw},
    {"", "recv_post_list", true, Treatment::ignored, "", kPosting},
    {"", "remote_ip", true, Treatment::refused, "", kRaw},
    {"", "remote_mac", true, Treatment::refused, "", kRaw},
    {"", "remote_port", true, Treatment::refused, "", kRaw},
    {"", "reply_every", true, Treatment::refused, "", kRaw},
    {"", "report-both", false, Treatment::ignored, "", "both directions are always reported"},
    {"", "report_gbits", false, Treatment::ignored, "", "rates are always in Gb/s"},
    {"", "report-per-port", false, Treatment::refused, "", "a run has one port"},
    {"", "retry_count", true, Treatment::same, "--retries", ""},
    {"", "reversed", false, Treatment::refused, "", kOneWay},
    {"", "run_infinitely", false, Treatment::same, "--forever",
     "of a _bw; a row for each -D, which is 5 s unless given"},
    {"", "send_with_imm", false, Treatment::same, "--imm", "of ib_send_*", "26.01"},
    {"", "sig_before", false, Treatment::refused, "", kCrypto},
    {"", "sig_offload", false, Treatment::refused, "", "no signature is offloaded here", "25.10"},
    {"", "sniffer", false, Treatment::refused, "", kRaw},
    {"", "tclass", true, Treatment::of_port, "--tclass", kClass},
    {"", "tcp", false, Treatment::refused, "", kRaw},
    {"", "tph_mem", true, Treatment::ignored, "", kMemory, "25.10"},
    {"", "typical_pkt_size", true, Treatment::refused, "", "the rate of a QP has no bursts here"},
    {"", "unsolicited_write", false, Treatment::ignored, "", "a receive is posted in any case",
     "24.10"},
    {"", "use_data_direct", false, Treatment::unsimulated, "", kGpu, "25.01"},
    {"", "use_exp", false, Treatment::ignored, "", kPosting},
    {"", "use_hugepages", false, Treatment::ignored, "", kMemory},
    {"", "use_old_post_send", false, Treatment::ignored, "", kPosting},
    {"", "use_ooo", false, Treatment::refused, "", "placement out of order is not there"},
    {"", "use_res_domain", false, Treatment::ignored, "", kPosting},
    {"", "use-null-mr", false, Treatment::ignored, "", kMemory, "23.04"},
    {"", "use-srq", false, Treatment::unsimulated, "", "each QP has its own receives"},
    {"", "use_cuda", true, Treatment::unsimulated, "", kGpu},
    {"", "use_cuda_bus_id", true, Treatment::unsimulated, "", kGpu},
    {"", "use_cuda_dmabuf", false, Treatment::unsimulated, "", kGpu},
    {"", "use_cuda_pcie_mapping", false, Treatment::unsimulated, "", kGpu, "25.07"},
    {"", "use_hl", true, Treatment::unsimulated, "", kGpu, "23.07"},
    {"", "use_ib_dm_dmabuf", true, Treatment::ignored, "", kMemory, "26.04"},
    {"", "use_mlu", true, Treatment::unsimulated, "", kGpu, "24.10"},
    {"", "use_mlu_dmabuf", false, Treatment::unsimulated, "", kGpu, "25.07"},
    {"", "use_musa", true, Treatment::unsimulated, "", kGpu, "26.04"},
    {"", "use_musa_bus_id", true, Treatment::unsimulated, "", kGpu, "26.04"},
    {"", "use_musa_dmabuf", false, Treatment::unsimulated, "", kGpu, "26.04"},
    {"", "use_musa_pcie_mapping", false, Treatment::unsimulated, "", kGpu, "26.04"},
    {"", "use_neuron", true, Treatment::unsimulated, "", kGpu, "23.07"},
    {"", "use_neuron_dmabuf", false, Treatment::unsimulated, "", kGpu, "23.10"},
    {"", "use_opencl", true, Treatment::unsimulated, "", kGpu, "25.04"},
    {"", "use_rocm", true, Treatment::unsimulated, "", kGpu},
    {"", "use_rocm_dmabuf", false, Treatment::unsimulated, "", kGpu, "25.04"},
    {"", "verb_type", true, Treatment::ignored, "", kPosting},
    {"", "vlan_en", false, Treatment::refused, "", kRaw},
    {"", "vlan_pcp", true, Treatment::refused, "", kRaw},
    {"", "wait_destroy", true, Treatment::ignored, "", kMoment},
    {"", "write_with_imm", false, Treatment::same, "--imm", "of ib_write_*", "24.01"},
});

std::string_view word_of(Treatment treatment) noexcept {
  switch (treatment) {
    case Treatment::same:
      return "same";
    case Treatment::of_port:
      return "same; ignored by `sim`";
    case Treatment::ignored:
      return "ignored";
    case Treatment::unsimulated:
      return "ignored by `sim`";
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

std::vector<const PerftestOption*> by_name(std::string_view name) {
  std::vector<const PerftestOption*> old, newer;
  for (const PerftestOption& option : kOptions) {
    if (option.name == name) return {&option};
    if (!option.name.starts_with(name)) continue;
    auto& found = option.since.empty() ? old : newer;
    // Two names of one letter are one option, as getopt_long() has it.
    if (option.letter.empty() || found.empty() || found.back()->letter != option.letter)
      found.push_back(&option);
  }
  return old.empty() ? newer : old;
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
    const std::string since = option.since.empty()    ? ""
                              : option.since == kFork ? fmt::format(" (of {})", kFork)
                                                      : fmt::format(" (since {})", option.since);
    text += fmt::format("| {} | {} | {}{} |\n", option_text, here, option.remark, since);
  }
  return text;
}

}  // namespace lw::gen::perftest
