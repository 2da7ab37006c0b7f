//===- preparation.cpp - What repeated launches share -----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/preparation.h"

namespace ltc::runtime {

static Error cannotStay(size_t result, std::string why) {
  return {ErrorCode::InvalidArgument,
          Stage::Execute,
          "result " + std::to_string(result) +
              " cannot stay: " + std::move(why),
          "",
          {},
          ""};
}

/// Adds the next result.
Status Preparation::add(Renewal renewal, const std::vector<bool> &varies,
                        const void *owner) {
  const size_t i = results.size();
  const std::optional<uint32_t> &donated = bound->artifact().donated[i];
  if (renewal == Renewal::Fresh) {
    if (donated && !varies[*donated])
      return cannotStay(i, "it takes the memory of an input that stays");
    fresh.push_back(uint32_t(i));
    results.push_back(nullptr);
    return {};
  }
  const bool isUpdated = renewal == Renewal::Updated;
  if (isUpdated != donated.has_value())
    return cannotStay(i, donated ? "an input donates its memory"
                                 : "no input donates its memory");
  if (isUpdated &&
      (varies[*donated] || bound->inputs[*donated].tensor != bound->results[i]))
    return cannotStay(i,
                      "the input that it updates has another type or varies");
  if (isUpdated)
    updates[*donated] = true;
  results.push_back(std::make_shared<DeviceBuffer>(
      bound->results[i], owner, isUpdated ? updated : remade));
  return {};
}

Result<std::shared_ptr<Preparation>>
Preparation::make(std::shared_ptr<BoundProgram> bound,
                  std::span<const Renewal> renewals,
                  const std::vector<bool> &varies, const void *owner) {
  std::shared_ptr<Preparation> made(new Preparation(std::move(bound)));
  if (renewals.size() != made->bound->results.size() ||
      varies.size() != made->bound->inputs.size())
    return cannotStay(renewals.size(), "the graph has other results or inputs");
  for (Renewal renewal : renewals)
    if (Status status = made->add(renewal, varies, owner); !status)
      return status.takeError();
  for (uint32_t i = 0; i < varies.size(); ++i) {
    made->place.push_back(uint32_t(made->varying.size()));
    if (varies[i])
      made->varying.push_back(i);
  }
  return made;
}

void Preparation::expect() {
  updated->expect();
  remade->expect();
}

void Preparation::finish(const FailurePtr &why) {
  if (!why) {
    // Later runs write to the memory that this one leaves.
    updated->setRestored(true);
  } else if (!failure) {
    failure = why;
    isSpent.store(true, std::memory_order_release);
  }
  updated->finish(why);
  remade->finish(why);
}

} // namespace ltc::runtime
