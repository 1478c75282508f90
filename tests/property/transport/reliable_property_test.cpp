// SPDX-License-Identifier: BSD-3-Clause
// Whatever a path does to packets, a reliable connection leaves memory as if nothing had happened,
// each atomic done once; or breaks, and says so with the right completion.
#include "support/property.h"
#include "support/transport_lab.h"

namespace lw::test {
namespace {

using transport::Status;
using transport::WorkRequest;
using wire::Operation;

// The region, in quarters: what the client sends from, what it reads into; on the server what is
// written to, what is read from. Atomics have the last line of the server's written quarter.
constexpr std::uint64_t kQuarter = 1 << 13;
constexpr std::uint64_t kSource = kLabVa, kReadInto = kLabVa + kQuarter;
constexpr std::uint64_t kWritten = kLabVa, kReadFrom = kLabVa + kQuarter;
constexpr std::uint64_t kReceived = kLabVa + 2 * kQuarter;
constexpr std::uint64_t kAtomics = kLabVa + 3 * kQuarter;
constexpr std::uint32_t kLongest = 2000;

/// What each memory must hold, by doing the work requests one after another.
struct Model {
  std::vector<std::byte> client, server;
  std::vector<std::uint64_t> originals;

  std::byte* at(std::vector<std::byte>& memory, std::uint64_t va) { return &memory[va - kLabVa]; }

  void apply(const WorkRequest& r) {
    if (r.operation == Operation::write) {
      std::copy_n(at(client, r.local_va), r.length, at(server, r.remote_va));
    } else if (r.operation == Operation::send) {
      std::copy_n(at(client, r.local_va), r.length, at(server, kReceived));
    } else if (r.operation == Operation::read_request) {
      std::copy_n(at(server, r.remote_va), r.length, at(client, r.local_va));
    } else {
      atomic(r);
    }
  }
  void atomic(const WorkRequest& r) {
    std::uint64_t value = 0;
    std::memcpy(&value, at(server, r.remote_va), 8);
    originals.push_back(value);
    std::memcpy(at(client, r.local_va), &value, 8);
    const bool swaps = r.operation == Operation::cmp_swap;
    if (!swaps) value += r.swap_add;
    if (swaps && value == r.compare) value = r.swap_add;
    std::memcpy(at(server, r.remote_va), &value, 8);
  }
};

double some_probability(double most) { return *rc::gen::inRange(0, 1000) * most / 1000; }

Faults some_faults(double most) {
  Faults faults;
  faults.loss = some_probability(most);
  faults.corruption = some_probability(most);
  faults.duplication = some_probability(most);
  faults.reordering = some_probability(most);
  faults.reorder_delay = Duration{*rc::gen::inRange(100, 40'000)};
  faults.seed = *rc::gen::arbitrary<std::uint32_t>();
  return faults;
}

LabConfig some_lab(double most) {
  LabConfig config;
  config.qp.mtu = 256;
  config.qp.send_psn = wire::Psn{*rc::gen::inRange<std::uint32_t>(0, wire::Psn::kMask + 1)};
  config.qp.receive_psn = config.qp.send_psn;
  config.qp.timeout = 5;
  config.qp.rnr_timer = 1;
  config.qp.max_outstanding_wqe = *rc::gen::inRange(1u, 20u);
  config.qp.max_rd_atomic = *rc::gen::inRange(1u, 5u);
  config.qp.psn_window = *rc::gen::element(1u << 23, 9u, 3u);
  config.qp.ack_every = *rc::gen::element(0u, 1u, 4u);
  config.qp.coalesce_acks = *rc::gen::arbitrary<bool>();
  config.qp.adaptive_retransmission = *rc::gen::arbitrary<bool>();
  config.qp.end_to_end_credits = *rc::gen::arbitrary<bool>();
  if (*rc::gen::arbitrary<bool>()) config.qp.recovery = transport::LossRecovery::selective_repeat;
  config.there = some_faults(most);
  config.back = some_faults(most);
  return config;
}

WorkRequest some_request(std::uint64_t id) {
  WorkRequest r{.id = id};
  r.operation = *rc::gen::element(Operation::send, Operation::write, Operation::read_request,
                                  Operation::fetch_add, Operation::cmp_swap);
  r.length = *rc::gen::inRange(0u, kLongest);
  const std::uint64_t offset = *rc::gen::inRange<std::uint64_t>(0, kQuarter - kLongest);
  const bool atomic = r.operation == Operation::fetch_add || r.operation == Operation::cmp_swap;
  const bool read = r.operation == Operation::read_request;
  r.local_va = (read || atomic ? kReadInto : kSource) + offset;
  r.remote_va = (read ? kReadFrom : kWritten) + offset;
  if (atomic) {
    r.length = 8;
    r.remote_va = kAtomics + 8 * *rc::gen::inRange(0u, 2u);
    r.swap_add = *rc::gen::inRange(1u, 4u);
    r.compare = *rc::gen::inRange(0u, 6u);
  }
  return r;
}

void fill(transport::Memory& memory, std::uint64_t va, std::uint64_t length, std::uint8_t salt) {
  auto bytes = memory.bytes(va, length);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>(i * 131 + (i >> 8) * 29 + salt);
  }
}

std::vector<std::byte> copy(transport::Memory& memory) {
  const auto all = memory.bytes(kLabVa, memory.size());
  return {all.begin(), all.end()};
}

struct Outcome {
  std::vector<transport::Completion> completions;
  Model model;
  bool memory_right = false;
  std::size_t payloads_left = 0;
};

Outcome play(const LabConfig& config, const std::vector<WorkRequest>& requests) {
  Lab lab(config);
  fill(lab.client->memory(), kSource, kQuarter, 1);
  fill(lab.server->memory(), kReadFrom, kQuarter, 2);
  Outcome outcome;
  outcome.model.client = copy(lab.client->memory());
  outcome.model.server = copy(lab.server->memory());
  for (const WorkRequest& request : requests) {
    if (request.operation == Operation::send) {
      lab.server->post(0, transport::Receive{.id = 0, .va = kReceived, .length = kLongest});
    }
    RC_ASSERT(lab.post(request));
    outcome.model.apply(request);
  }
  RC_ASSERT(lab.run());
  outcome.memory_right = copy(lab.client->memory()) == outcome.model.client &&
                         copy(lab.server->memory()) == outcome.model.server;
  outcome.completions = lab.completions;
  outcome.payloads_left = lab.simulation.store().in_use();
  return outcome;
}

std::vector<WorkRequest> some_requests() {
  std::vector<WorkRequest> requests;
  const std::size_t count = *rc::gen::inRange(1u, 25u);
  for (std::size_t i = 0; i < count; ++i) requests.push_back(some_request(i));
  return requests;
}

RC_GTEST_PROP(Reliable, memory_is_right_or_the_qp_says_why, ()) {
  LabConfig config = some_lab(0.15);
  config.qp.retry_count = 7;
  const auto requests = some_requests();
  const Outcome outcome = play(config, requests);
  RC_ASSERT(outcome.completions.size() == requests.size());
  std::size_t good = 0;
  while (good < requests.size() && outcome.completions[good].status == Status::success) ++good;
  for (std::size_t i = 0; i < requests.size(); ++i) RC_ASSERT(outcome.completions[i].id == i);
  std::size_t atomics = 0;
  for (std::size_t i = 0; i < good; ++i) {
    const Operation operation = requests[i].operation;
    if (operation != Operation::fetch_add && operation != Operation::cmp_swap) continue;
    RC_ASSERT(outcome.completions[i].original == outcome.model.originals[atomics++]);
  }
  if (good == requests.size()) {
    RC_ASSERT(outcome.memory_right);
    RC_ASSERT(outcome.payloads_left == 0u);
    return;
  }
  RC_ASSERT(outcome.completions[good].status == Status::retry_exceeded);
  for (std::size_t i = good + 1; i < requests.size(); ++i) {
    RC_ASSERT(outcome.completions[i].status == Status::flushed);
  }
}

/// With so few faults no QP may break: otherwise breaking would satisfy the property above.
RC_GTEST_PROP(Reliable, few_faults_break_nothing, ()) {
  const auto requests = some_requests();
  const Outcome outcome = play(some_lab(0.01), requests);
  for (const auto& done : outcome.completions) RC_ASSERT(done.status == Status::success);
  RC_ASSERT(outcome.memory_right);
}

}  // namespace
}  // namespace lw::test
