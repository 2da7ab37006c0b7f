//===- checks/number_limits.cpp - Numbers that do not fit a dtype ---------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where a kernel of the CPU converts a number to a dtype, one that does not fit
// raises. Which kernels do, and what the dtype is, nobody has written down: the
// kernel itself is asked, with a number that fits nothing.
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/checks/number_limits.h"

#include "ltc_backend/record/checks/argument_kinds.h"
#include "ltc_backend/record/probe.h"
#include "ltc_backend/tensors/map_tensors.h"

#include <bit>
#include <limits>
#include <unordered_map>

namespace ltc::backend {
using c10::IValue;

// As Scalar's own accessors, whose words hold the name of the type.
#define LTC_FORALL_NUMBER_TYPES(row)                                           \
  AT_FORALL_SCALAR_TYPES_WITH_COMPLEX(row)                                     \
  row(uint16_t, UInt16) row(uint32_t, UInt32) row(uint64_t, UInt64)

/// Throws if the number does not fit.
static void convert(const at::Scalar &number, at::ScalarType type) {
  switch (type) {
#define LTC_CASE(cpp, name)                                                    \
  case at::ScalarType::name:                                                   \
    (void)number.to##name();                                                   \
    return;
    LTC_FORALL_NUMBER_TYPES(LTC_CASE)
#undef LTC_CASE
  default:
    return;
  }
}

static void convert(at::Scalar number, const NumberLimit &limit) {
  if (limit.isWhole && number.isFloatingPoint())
    number = number.toLong();
  convert(limit.isNegated ? -number : number, limit.type);
}

/// The dtype that a complaint is about, if it is one of a number's conversion.
static std::optional<at::ScalarType> typeInWords(std::string_view what) {
  constexpr std::string_view begin = "value cannot be converted to type ",
                             end = " without overflow";
  if (!what.starts_with(begin) || !what.ends_with(end))
    return std::nullopt;
  what.remove_prefix(begin.size());
  what.remove_suffix(end.size());
#define LTC_CASE(cpp, name)                                                    \
  if (what == #cpp)                                                            \
    return at::ScalarType::name;
  LTC_FORALL_NUMBER_TYPES(LTC_CASE)
#undef LTC_CASE
  return std::nullopt;
}

static NumberLimit limitOf(uint32_t operand, at::ScalarType type,
                           bool isNegated, bool isWhole) {
  NumberLimit limit{operand, type, isNegated, isWhole, 0, 0};
  switch (type) {
#define LTC_CASE(cpp, name)                                                    \
  case at::ScalarType::name: {                                                 \
    using Limits =                                                             \
        std::numeric_limits<typename c10::scalar_value_type<cpp>::type>;       \
    limit.low = double(Limits::lowest());                                      \
    limit.high = double(Limits::max());                                        \
    break;                                                                     \
  }
    LTC_FORALL_NUMBER_TYPES(LTC_CASE)
#undef LTC_CASE
  default:
    break;
  }
  if (isNegated)
    limit.low = -std::exchange(limit.high, -limit.low);
  return limit;
}

void checkNumber(const NumberLimit &limit, const Operand &number) {
  bool isInteger = number.scalarType == DType::I64;
  double value = isInteger ? double(int64_t(number.bits))
                           : std::bit_cast<double>(number.bits);
  if (value >= limit.low && value <= limit.high)
    return;
  // Infinity may fit, and so may what an unsigned dtype takes below zero.
  at::Scalar exact = value;
  if (isInteger)
    exact = int64_t(number.bits);
  convert(exact, limit);
}

/// Of the lists of a foreach op, element `i`, in a list of its own.
static IValue onlyElement(const ArgumentInfo &argument, const IValue &value,
                          size_t i) {
  if (!value.isList() || i >= value.toListRef().size())
    return value;
  if (argument.kind == ArgumentKind::TensorList)
    return c10::List<at::Tensor>({value.toListRef()[i].toTensor()});
  if (argument.kind == ArgumentKind::ScalarList)
    return c10::List<at::Scalar>({value.toListRef()[i].toScalar()});
  return value;
}

/// A number of the same kind, which has a say in the dtype of the result, that
/// `type` holds and no narrower one does; of none at all, if it can be.
static at::Scalar excessive(const IValue &number,
                            std::optional<at::ScalarType> type) {
  double real = type ? limitOf(0, *type, false, false).high / 2 : 1e308;
  if (number.isComplexDouble())
    return c10::complex<double>(real, 1); // no real dtype holds
  if (number.isDouble())
    return real;
  constexpr int64_t largest = std::numeric_limits<int64_t>::max();
  return real < double(largest) ? int64_t(real) : largest;
}

static std::optional<at::ScalarType> askKernel(const OpInfo &info,
                                               std::vector<IValue> arguments) {
  for (size_t i = 0; i < arguments.size(); ++i)
    if (isSize(info.arguments[i], arguments[i]))
      arguments[i] = smallSizes(arguments[i].toIntVector());
  // Small ones may not fit what else there is among the arguments.
  for (const ProbeMaker &maker : {onCpuSmall, onCpuFlat})
    try {
      callOnProbes(info.handle, replaceAll(arguments, maker));
      return std::nullopt;
    } catch (const std::exception &refused) {
      if (auto type = typeInWords(refused.what()))
        return type;
    }
  return std::nullopt;
}

/// The dtypes that the kernel converts argument `index` to, in turn.
static std::vector<at::ScalarType>
askKernel(const OpInfo &info, std::vector<IValue> arguments, size_t index) {
  IValue &argument = arguments[index];
  bool isList = argument.isList();
  IValue number = isList ? argument.toListRef()[0] : argument;
  std::vector<at::ScalarType> types;
  std::optional<at::ScalarType> type;
  do {
    at::Scalar larger = excessive(number, type);
    argument = isList ? IValue(c10::List<at::Scalar>({larger})) : larger;
    type = askKernel(info, arguments);
    if (type && std::ranges::count(types, *type))
      break;
    if (type)
      types.push_back(*type);
  } while (type);
  return types;
}

/// The same, remembered by what kinds of arguments there are.
static std::vector<at::ScalarType>
limitTypes(const OpInfo &info, const std::vector<IValue> &arguments,
           size_t index) {
  static auto *mutex = new std::mutex;
  static auto *known =
      new std::unordered_map<Hash128, std::vector<at::ScalarType>>;
  Hash128 key = Hasher().add(kindsOf(info, arguments)).add(index).finish();
  {
    std::lock_guard lock(*mutex);
    if (auto found = known->find(key); found != known->end())
      return found->second;
  }
  auto types = askKernel(info, arguments, index);
  std::lock_guard lock(*mutex);
  known->emplace(key, types);
  return types;
}

/// How many operands CallReader makes of the argument.
static uint32_t operandCount(const ArgumentInfo &argument,
                             const IValue &value) {
  uint32_t count = 0;
  forEachTensor(value,
                [&](const at::Tensor &tensor) { count += tensor.defined(); });
  if (argument.lifts(value))
    return value.isList() ? value.toListRef().size() : 1;
  return count;
}

/// Of foreach ops, which have one list of tensors at least.
static size_t listLength(c10::ArrayRef<IValue> arguments) {
  for (const IValue &value : arguments)
    if (value.isTensorList())
      return value.toListRef().size();
  return 0;
}

namespace {
struct LimitFinder {
  const OpInfo &info;
  c10::ArrayRef<IValue> arguments;
  std::vector<NumberLimit> limits;

  /// Of argument `index`, which becomes the operands from `operand` on.
  void find(size_t index, uint32_t operand) {
    const IValue &value = arguments[index];
    bool isForeach = info.name.starts_with("aten::_foreach_");
    size_t count = isForeach ? listLength(arguments) : 1;
    for (size_t i = 0; i < count; ++i) {
      const IValue &number = value.isList() ? value.toListRef()[i] : value;
      if (!number.isInt() && !number.isDouble() && !number.isComplexDouble())
        continue;
      std::vector<IValue> call = arguments.vec();
      for (size_t j = 0; isForeach && j < call.size(); ++j)
        call[j] = onlyElement(info.arguments[j], call[j], i);
      bool isNegated = info.arguments[index].name == "alpha" &&
                       info.name.find("sub") != info.name.npos;
      bool isWhole = false;
      for (at::ScalarType type : limitTypes(info, call, index)) {
        NumberLimit limit = limitOf(operand + (value.isList() ? i : 0), type,
                                    isNegated, isWhole);
        if (info.arguments[index].lifts(value))
          add(limit);
        else
          convert(number.toScalar(), limit);
        isWhole |= c10::isIntegralType(type, /*includeBool=*/false);
      }
    }
  }

  void add(const NumberLimit &limit) {
    bool isKnown = std::ranges::any_of(limits, [&](const NumberLimit &other) {
      return other.operand == limit.operand && other.type == limit.type;
    });
    if (!isKnown)
      limits.push_back(limit);
  }
};
} // namespace

std::vector<NumberLimit> numberLimits(const OpInfo &info,
                                      c10::ArrayRef<IValue> arguments) {
  LimitFinder finder{info, arguments, {}};
  if (!info.name.starts_with("aten::") || info.random ||
      info.facts.has(OpFact::NoLimits))
    return {};
  uint32_t operand = 0;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (takesNumbers(info.arguments[i]))
      finder.find(i, operand);
    operand += operandCount(info.arguments[i], arguments[i]);
  }
  return std::move(finder.limits);
}

} // namespace ltc::backend
