// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/fields/fields.h"

#include <algorithm>

#include <fmt/format.h>

namespace lw::dissect {
namespace {

/// "1700000000.123456789": as text, because a double loses the nanoseconds.
std::string epoch_of(Instant stamp) {
  constexpr std::int64_t kNsPerSecond = 1'000'000'000;
  const std::int64_t ns = to_ns(stamp);
  if (ns >= 0) return fmt::format("{}.{:09}", ns / kNsPerSecond, ns % kNsPerSecond);
  return fmt::format("-{}.{:09}", -(ns / kNsPerSecond), -(ns % kNsPerSecond));
}

constexpr std::string_view kRecordNames[] = {"frame.number",       "frame.time_epoch",
                                             "frame.len",          "frame.cap_len",
                                             "frame.interface_id", "frame.comment"};

void add_record(roce::FieldList& fields, const CapturedFrame& captured) {
  const capture::Record& record = captured.record;
  add_number(fields, kRecordNames[0], captured.number);
  add_text(fields, kRecordNames[1], epoch_of(record.stamp));
  add_number(fields, kRecordNames[2], record.wire_length);
  add_number(fields, kRecordNames[3], record.bytes.size());
  add_number(fields, kRecordNames[4], record.interface);
  if (!record.comment.empty()) add_text(fields, kRecordNames[5], std::string(record.comment));
}

constexpr std::string_view kOwnNames[] = {"longwire.opcode", "longwire.payload_length",
                                          "longwire.icrc", "longwire.icrc_expected",
                                          "longwire.problem"};

std::string name_of(roce::IcrcVerdict verdict) {
  if (verdict == roce::IcrcVerdict::ok) return "ok";
  return verdict == roce::IcrcVerdict::bad ? "bad" : "unverifiable";
}

/// What longwire concludes, of a RoCE frame.
void add_own(roce::FieldList& fields, const Dissection& dissection, const roce::Frame& frame) {
  if (frame.info) add_text(fields, kOwnNames[0], std::string(frame.info->name));
  add_number(fields, kOwnNames[1], frame.payload_length);
  add_text(fields, kOwnNames[2], name_of(dissection.icrc));
  if (dissection.icrc == roce::IcrcVerdict::bad) {
    if (const auto place = roce::expected_icrc(frame.envelope)) {
      add_text(fields, kOwnNames[3], fmt::format("{:#010x}", __builtin_bswap32(place->expected)));
    }
  }
  if (frame.defect) add_text(fields, kOwnNames[4], roce::to_string(*frame.defect));
}

constexpr std::string_view kMadColumns[] = {"infiniband.mad.mgmtclass", "infiniband.mad.method",
                                            "infiniband.mad.transactionid",
                                            "infiniband.mad.attributeid"};

}  // namespace

Dissection dissect_frame(const CapturedFrame& captured) {
  return {captured, roce::parse(captured.envelope), roce::check_icrc(captured.envelope)};
}

void add_fields(roce::FieldList& fields, const Dissection& dissection) {
  add_record(fields, dissection.captured);
  roce::add_fields(fields, dissection.captured.envelope);
  if (dissection.icrc == roce::IcrcVerdict::not_roce) return;
  if (!dissection.frame) {
    add_text(fields, kOwnNames[2], name_of(dissection.icrc));
    add_text(fields, kOwnNames[4], roce::to_string(dissection.frame.error()));
    return;
  }
  roce::add_fields(fields, *dissection.frame);
  add_own(fields, dissection, *dissection.frame);
}

std::span<const std::string_view> csv_columns() {
  static const std::vector<std::string_view> kColumns = [] {
    std::vector<std::string_view> names(std::begin(kRecordNames), std::end(kRecordNames));
    for (const wire::FieldInfo& field : roce::header_fields()) {
      const bool column = !field.name.starts_with("infiniband.mad.") ||
                          std::ranges::find(kMadColumns, field.name) != std::end(kMadColumns);
      if (column) names.push_back(field.name);
    }
    names.push_back(roce::kIcrcName);
    names.insert(names.end(), std::begin(kOwnNames), std::end(kOwnNames));
    return names;
  }();
  return kColumns;
}

}  // namespace lw::dissect
