// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/cm/device_connector.h"

#include <algorithm>
#include <random>

#include <fmt/format.h>

namespace lw::gen {

namespace {

/// Returns a random first PSN for a QP, so that frames of an earlier run are not accepted.
std::uint32_t random_psn() {
  static std::random_device device;
  return device() & wire::Psn::kMask;
}

/// Returns the configuration of the local QP that connects to a QP of the device.
transport::QpConfig towards(const handover::Offer& offer, const handover::Qp& own,
                            const handover::Qp& its, transport::QpConfig qp) {
  qp.qpn = own.qpn;
  qp.send_psn = wire::Psn{own.psn};
  qp.dest_qpn = its.qpn;
  qp.receive_psn = wire::Psn{its.psn};
  qp.mtu = std::min(qp.mtu, offer.mtu);
  qp.max_rd_atomic = std::min(qp.max_rd_atomic, std::max(offer.max_rd_atomic, 1u));
  if (offer.q_key != 0) qp.q_key = offer.q_key;
  qp.report_writes = true;
  qp.notifies = !offer.rocev1;
  return qp;
}

}  // namespace

handover::Hello DeviceConnector::hello_of(const SessionParams& params,
                                          const transport::QpConfig& qp, std::uint32_t count) {
  handover::Hello hello{.token = config_.token,
                        .params = params,
                        .checked = config_.checked,
                        .mtu = qp.mtu,
                        .timeout = qp.timeout,
                        .retries = qp.retry_count,
                        .rnr_retries = qp.rnr_retry,
                        .traffic = qp_class_of(endpoint_.channel().traffic()),
                        .gid = wire::gid_of(port_.own().ip),
                        .qps = {}};
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t qpn = endpoint_.reserve_qpn();
    hello.qps.push_back({.qpn = qpn,
                         .psn = random_psn(),
                         .va = MemoryLayout(qpn, params).inbox(),
                         .r_key = MemoryLayout::r_key_of(qpn)});
  }
  return hello;
}

Result<OwnAddress> DeviceConnector::device_at(const wire::Ipv6Address& gid) {
  const wire::IpAddress ip = wire::ip_of(gid);
  if (ip.index() != port_.own().ip.index()) {
    return fail(fmt::format("the device has the address {} and the port {}: one is IPv4, the other "
                            "IPv6: give another --gid there or another --address here",
                            to_string(ip), to_string(port_.own().ip)),
                ExitCode::environment);
  }
  if (config_.mac) return OwnAddress{*config_.mac, ip};
  const auto mac = port_.resolve(ip, config_.timeout, stop_);
  if (!mac) return std::unexpected(mac.error());
  return OwnAddress{*mac, ip};
}

Result<std::vector<Connected>> DeviceConnector::connect(const SessionParams& params,
                                                        const transport::QpConfig& qp,
                                                        std::uint32_t count) {
  if (count > handover::kMostQps) {
    return fail(fmt::format("--qps: a hand-over has up to {} QPs", handover::kMostQps));
  }
  client_.reset();
  auto client = handover::Client::connect(config_.where, config_.timeout);
  if (!client) return std::unexpected(client.error());
  client_.emplace(std::move(*client));
  const handover::Hello hello = hello_of(params, qp, count);
  const auto offer =
      client_->open(hello, config_.timeout, stop_, [this] { (void)endpoint_.poll(); });
  if (!offer) return std::unexpected(offer.error());
  if (auto same = handover::check_encapsulation(*offer, port_.rocev1()); !same)
    return std::unexpected(same.error());
  const auto device = device_at(offer->gid);
  if (!device) return std::unexpected(device.error());
  std::vector<Connected> connected;
  for (std::size_t i = 0; i < hello.qps.size(); ++i) {
    const handover::Qp& own = hello.qps[i];
    const handover::Qp& its = offer->qps[i];
    Connected one{.params = params, .remote = {.va = its.va, .r_key = its.r_key}, .device = true};
    one.params.va = own.va;
    one.params.r_key = own.r_key;
    one.connection = &endpoint_.add(towards(*offer, own, its, qp),
                                    Connection::Region::of(Side::client, own.qpn, own.qpn, params,
                                                           PatternMemory::Numbers::slot),
                                    {*device});
    connected.push_back(one);
  }
  return connected;
}

Result<void> DeviceConnector::disconnect(std::vector<Connected>& connected) {
  handover::Done done;
  for (const Connected& one : connected) {
    done.messages.push_back(one.messages);
    done.bytes += one.messages * one.params.size;
  }
  const auto report =
      client_->finish(done, config_.timeout, stop_, [this] { (void)endpoint_.poll(); });
  for (Connected& one : connected) {
    endpoint_.remove(one.connection->qpn());
    one.connection = nullptr;
  }
  client_.reset();
  if (!report) return std::unexpected(report.error());
  // The report covers all QPs together.
  connected.front().stats = report->stats;
  for (Connected& one : connected) {
    one.answered = true;
    one.counted = report->counted;
  }
  if (!report->failure.empty()) {
    return fail("the device's side failed: " + report->failure, ExitCode::failed);
  }
  return {};
}

}  // namespace lw::gen
