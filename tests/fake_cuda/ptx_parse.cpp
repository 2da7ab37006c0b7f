//===- ptx_parse.cpp - From PTX to instructions ---------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ptx.h"
#include "ptx_tokens.h"

#include <stdexcept>

namespace fake_cuda {

namespace {

size_t place(size_t &end, const Variable &variable) {
  size_t begin =
      (end + variable.alignment - 1) / variable.alignment * variable.alignment;
  end = begin + variable.bytes;
  return begin;
}

std::string_view lastPart(std::string_view opcode) {
  return opcode.substr(opcode.rfind('.') + 1);
}

bool hasPart(std::string_view opcode, std::string_view part) {
  for (size_t at = opcode.find(part); at != opcode.npos;
       at = opcode.find(part, at + 1)) {
    size_t end = at + part.size();
    if (opcode[at - (at > 0)] == '.' &&
        (end == opcode.size() || opcode[end] == '.'))
      return true;
  }
  return false;
}

/// The body of one function, instruction by instruction.
class Body {
public:
  Body(Module &module, Function &function, size_t firstRegister)
      : module(module), function(function) {
    function.registers.resize(
        std::max<size_t>(firstRegister, kSpecialRegisters));
    registers = {{"%tid.x", kThread},
                 {"%ctaid.x", kBlock},
                 {"%ntid.x", kThreads},
                 {"%nctaid.x", kBlocks},
                 {"%laneid", kLane}};
  }

  /// The value of a symbol is an address, or an offset in its space.
  void define(std::string_view name, uint64_t value) { symbols[name] = value; }
  int32_t registerOf(std::string_view name) {
    auto [known, isNew] =
        registers.try_emplace(name, int32_t(function.registers.size()));
    if (isNew)
      function.registers.push_back(0);
    return known->second;
  }

  void read(Tokens &tokens);

private:
  struct Operand {
    int32_t reg = 0;
    int64_t offset = 0;           ///< of an address
    std::string_view symbol;      ///< of an address
    std::vector<int32_t> several; ///< of a vector
  };

  int32_t valueOf(std::string_view word);
  Operand takeOperand(Tokens &tokens);
  void readStatement(Tokens &tokens);
  void readInstruction(Tokens &tokens, std::string_view opcode,
                       Instruction made);
  void readCall(Tokens &tokens, Instruction made);
  bool makeMatrices(std::string_view opcode,
                    const std::vector<Operand> &operands, Instruction &made);
  void makeCopy(const std::vector<Operand> &operands, Instruction &made);
  void makeAccess(std::string_view opcode, const std::vector<Operand> &operands,
                  Instruction made);
  void makeCompute(std::string_view opcode,
                   const std::vector<Operand> &operands, Instruction made);
  void add(Instruction made) { module.code.push_back(std::move(made)); }
  void move(int32_t to, int32_t from, Instruction made);

  Module &module;
  Function &function;
  std::map<std::string_view, int32_t> registers;
  std::map<std::string_view, uint64_t> symbols;
  std::map<uint64_t, int32_t> constants;
  std::map<std::string_view, uint32_t> labels;
  std::vector<std::pair<uint32_t, std::string_view>> jumps;
};

/// A register with what a word stands for.
int32_t Body::valueOf(std::string_view word) {
  std::optional<uint64_t> bits = bitsOf(word);
  if (!bits)
    if (auto symbol = symbols.find(word); symbol != symbols.end())
      bits = symbol->second;
  if (!bits)
    if (auto global = module.globals.find(word); global != module.globals.end())
      bits = global->second.first;
  if (!bits)
    return registerOf(word);
  auto [known, isNew] =
      constants.try_emplace(*bits, int32_t(function.registers.size()));
  if (isNew)
    function.registers.push_back(*bits);
  return known->second;
}

Body::Operand Body::takeOperand(Tokens &tokens) {
  Operand operand;
  if (tokens.takeIf("{")) {
    do
      operand.several.push_back(valueOf(tokens.take()));
    while (tokens.takeIf(","));
    tokens.expect("}");
    return operand;
  }
  if (!tokens.takeIf("[")) {
    operand.reg = valueOf(tokens.take());
    if (tokens.takeIf("|")) // of a comparison of pairs
      operand.several = {operand.reg, valueOf(tokens.take())};
    return operand;
  }
  operand.symbol = tokens.take();
  operand.reg = valueOf(operand.symbol);
  if (tokens.takeIf("+"))
    operand.offset = tokens.takeInteger();
  tokens.expect("]");
  return operand;
}

void Body::read(Tokens &tokens) {
  function.first = uint32_t(module.code.size());
  int depth = 1;
  while (depth > 0) {
    if (tokens.takeIf("{"))
      ++depth;
    else if (tokens.takeIf("}"))
      --depth;
    else
      readStatement(tokens);
  }
  Instruction end;
  end.kind = Instruction::Return;
  add(end);
  for (auto [number, label] : jumps) {
    auto known = labels.find(label);
    if (known == labels.end())
      fail("there is no label " + std::string(label));
    module.code[number].target = known->second;
  }
}

void Body::readStatement(Tokens &tokens) {
  std::string_view word = tokens.take();
  if (tokens.takeIf(":")) {
    labels[word] = uint32_t(module.code.size());
    return;
  }
  if (word == ".shared" || word == ".local") {
    Variable variable = tokens.takeVariable();
    define(variable.name,
           place(word == ".shared" ? function.sharedBytes : function.localBytes,
                 variable));
    return tokens.expect(";");
  }
  if (word == ".reg" || word == ".param" || word == ".pragma")
    return tokens.skipTo(";");
  Instruction made;
  if (word == "@") {
    made.isNegated = tokens.takeIf("!");
    made.guard = valueOf(tokens.take());
    word = tokens.take();
  }
  readInstruction(tokens, word, std::move(made));
}

void Body::readInstruction(Tokens &tokens, std::string_view opcode,
                           Instruction made) {
  std::string_view base = opcode.substr(0, opcode.find('.'));
  if (base == "call")
    return readCall(tokens, std::move(made));
  if (base == "ret" || base == "exit") {
    made.kind = Instruction::Return;
    add(std::move(made));
    return tokens.expect(";");
  }
  if (base == "bra") {
    made.kind = Instruction::Branch;
    jumps.push_back({uint32_t(module.code.size()), tokens.take()});
    add(std::move(made));
    return tokens.expect(";");
  }
  std::vector<Operand> operands;
  if (!tokens.takeIf(";")) {
    do
      operands.push_back(takeOperand(tokens));
    while (tokens.takeIf(","));
    tokens.expect(";");
  }
  if (opcode == "bar.warp.sync") {
    made.kind = Instruction::WarpBarrier;
    made.c = operands.at(0).reg;
    return add(std::move(made));
  }
  if (base == "bar" || base == "barrier") {
    made.kind = Instruction::Barrier;
    return add(std::move(made));
  }
  if (base == "ld" || base == "st" || base == "atom")
    return makeAccess(opcode, operands, std::move(made));
  if (opcode == "shfl.sync.bfly.b32") {
    made.kind = Instruction::Shuffle;
    made.to = operands.at(0).reg;
    made.a = operands.at(1).reg;
    made.b = operands.at(2).reg;
    made.c = operands.at(4).reg;
    return add(std::move(made));
  }
  if (makeMatrices(opcode, operands, made))
    return add(std::move(made));
  makeCompute(opcode, operands, std::move(made));
}

/// What tensor cores need, if that is it.
bool Body::makeMatrices(std::string_view opcode,
                        const std::vector<Operand> &operands,
                        Instruction &made) {
  if (opcode == "cp.async.cg.shared.global") {
    makeCopy(operands, made);
  } else if (opcode == "cp.async.commit_group") {
    made.kind = Instruction::CloseCopies;
  } else if (opcode == "cp.async.wait_group") {
    made.kind = Instruction::AwaitCopies;
    made.a = operands.at(0).reg;
  } else if (opcode.starts_with("ldmatrix.sync.aligned.m8n8.x4.")) {
    made.kind = Instruction::Matrices;
    made.isTransposed = hasPart(opcode, "trans");
    made.several = operands.at(0).several;
    made.a = operands.at(1).reg;
    made.offset = operands[1].offset;
  } else if (opcode.starts_with("mma.sync.aligned.m16n8k16.row.col.f32.")) {
    made.kind = Instruction::Product;
    made.isBf16 = hasPart(opcode, "bf16");
    for (const Operand &operand : operands)
      made.several.insert(made.several.end(), operand.several.begin(),
                          operand.several.end());
  } else {
    return false;
  }
  return true;
}

void Body::makeCopy(const std::vector<Operand> &operands, Instruction &made) {
  const Operand &from = operands.at(1);
  Instruction sum;
  sum.operation = findOperation("add.s64");
  sum.to = registerOf("%where a copy comes from");
  sum.a = from.reg;
  sum.b = valueOf(std::to_string(from.offset));
  add(sum);
  made.kind = Instruction::Copy;
  made.a = operands[0].reg;
  made.offset = operands[0].offset;
  made.b = sum.to;
  made.c = operands.at(operands.size() > 3 ? 3 : 2).reg;
}

void Body::readCall(Tokens &tokens, Instruction made) {
  std::string_view name = tokens.take();
  auto called = module.functions.find(name);
  if (called == module.functions.end() || called->second.isEntry)
    fail("there is no function " + std::string(name));
  made.kind = Instruction::Call;
  made.target = called->second.first;
  if (tokens.takeIf(",")) {
    tokens.expect("(");
    do
      made.several.push_back(valueOf(tokens.take()));
    while (tokens.takeIf(","));
    tokens.expect(")");
  }
  tokens.expect(";");
  if (made.several.size() != called->second.parameters.size())
    fail("a call of " + std::string(name) + " has other arguments");
  for (size_t i = 0; i < made.several.size(); ++i)
    move(called->second.parameters[i], made.several[i], made);
  add(std::move(made));
}

void Body::move(int32_t to, int32_t from, Instruction made) {
  made.kind = Instruction::Compute;
  made.operation = findOperation("mov.b64");
  made.to = to;
  made.a = from;
  add(std::move(made));
}

void Body::makeAccess(std::string_view opcode,
                      const std::vector<Operand> &operands, Instruction made) {
  bool isStore = opcode.starts_with("st.");
  const Operand &address = operands.at(isStore ? 0 : 1);
  const Operand &value = operands.at(isStore ? 1 : 0);
  bool isParameter = hasPart(opcode, "param");
  // Parameters of a function that is called are registers.
  if (isParameter && !symbols.contains(address.symbol) &&
      registers.contains(address.symbol) && address.symbol[0] != '%')
    return isStore ? move(address.reg, value.reg, made)
                   : move(value.reg, address.reg, made);
  if (hasPart(opcode, "global"))
    made.space = Space::Global;
  else if (hasPart(opcode, "shared"))
    made.space = Space::Shared;
  else if (hasPart(opcode, "local"))
    made.space = Space::Local;
  else if (isParameter && !isStore)
    made.space = Space::Parameter;
  else
    fail("there is no code for " + std::string(opcode));
  made.kind = isStore ? Instruction::Store : Instruction::Load;
  if (opcode.starts_with("atom.")) {
    made.kind = Instruction::Atomic;
    std::string type(lastPart(opcode));
    for (const char *name : {"add", "max", "min"})
      if (hasPart(opcode, name))
        made.operation = findOperation(name + ("." + type));
    if (!made.operation && !hasPart(opcode, "exch"))
      fail("there is no code for " + std::string(opcode));
    made.b = operands.at(2).reg;
  }
  made.bytes = uint8_t(bytesOf(lastPart(opcode)));
  made.isSigned = lastPart(opcode)[0] == 's';
  made.a = address.reg;
  made.offset = address.offset;
  made.several = value.several.empty() ? std::vector{value.reg} : value.several;
  add(std::move(made));
}

void Body::makeCompute(std::string_view opcode,
                       const std::vector<Operand> &operands, Instruction made) {
  std::string name(opcode);
  // mov of a vector to a register, or back.
  if (name.starts_with("mov.") && !operands.at(0).several.empty())
    name =
        "unpack." + std::to_string(operands[0].several.size()) + name.substr(3);
  else if (name.starts_with("mov.") && !operands.at(1).several.empty())
    name =
        "pack." + std::to_string(operands[1].several.size()) + name.substr(3);
  made.operation = findOperation(name);
  if (!made.operation)
    fail("there is no code for " + name);
  made.to = operands.at(0).reg;
  for (const Operand &operand : operands)
    if (!operand.several.empty())
      made.several = operand.several;
  int32_t *places[] = {&made.a, &made.b, &made.c};
  for (size_t i = 1; i < operands.size(); ++i)
    if (i <= std::size(places))
      *places[i - 1] = operands[i].reg;
  add(std::move(made));
}

/// Where a function's parts begin among the tokens.
struct Found {
  std::string_view name;
  Function function;
  size_t parameters, body;
};

Found skipFunction(Tokens &tokens, bool isEntry) {
  Found found;
  found.function.isEntry = isEntry;
  found.name = tokens.take();
  found.parameters = tokens.next;
  tokens.skipTo(")");
  while (tokens.peek() != "{" && tokens.peek() != ";")
    if (tokens.take() == ".reqntid")
      found.function.threads = uint32_t(tokens.takeInteger());
  found.body = tokens.takeIf(";") ? 0 : tokens.next + 1;
  for (int depth = 0; found.body;) {
    std::string_view word = tokens.take();
    depth += (word == "{") - (word == "}");
    if (depth == 0)
      break;
  }
  return found;
}

void readGlobal(Tokens &tokens, const MakeGlobal &makeGlobal, Module &module) {
  Variable variable = tokens.takeVariable();
  tokens.expect(";"); // none has a value
  module.globals[std::string(variable.name)] = {makeGlobal(variable.bytes),
                                                variable.bytes};
}

std::vector<Found> readModule(Tokens &tokens, const MakeGlobal &makeGlobal,
                              Module &module) {
  std::vector<Found> functions;
  while (!tokens.atEnd()) {
    std::string_view word = tokens.take();
    if (word == ".version" || word == ".target" || word == ".address_size")
      tokens.take();
    else if (word == ".global")
      readGlobal(tokens, makeGlobal, module);
    else if (word == ".entry" || word == ".func")
      functions.push_back(skipFunction(tokens, word == ".entry"));
    else if (word != ".visible")
      fail("there is no code for " + std::string(word));
  }
  return functions;
}

/// Returns the first register behind the function's.
size_t readFunction(Tokens &tokens, Found &found, size_t firstRegister,
                    Module &module) {
  Function &function = found.function;
  Body body(module, function, firstRegister);
  tokens.next = found.parameters;
  tokens.expect("(");
  while (tokens.takeIf(".param")) {
    Variable parameter = tokens.takeVariable();
    if (function.isEntry)
      body.define(parameter.name, place(function.parameterBytes, parameter));
    else
      function.parameters.push_back(body.registerOf(parameter.name));
    tokens.takeIf(",");
  }
  tokens.next = found.body;
  body.read(tokens);
  // What a kernel may have unless it asks for more.
  constexpr size_t mostShared = 48 << 10, mostParameters = 4 << 10;
  if (function.sharedBytes > mostShared)
    fail("there are only 49152 bytes of shared memory");
  if (function.parameterBytes > mostParameters)
    fail("there are only 4096 bytes of parameters");
  size_t end = function.registers.size();
  module.functions[std::string(found.name)] = std::move(function);
  return end;
}

} // namespace

std::optional<std::string> parse(std::string_view text,
                                 const MakeGlobal &makeGlobal, Module &module) {
  try {
    Tokens tokens{split(text)};
    if (tokens.peek() != ".version")
      return "the text does not begin with .version";
    std::vector<Found> all = readModule(tokens, makeGlobal, module);
    // An entry has the registers of all that it may call.
    size_t registers = 0;
    std::vector<std::pair<size_t, uint64_t>> constants;
    for (Found &found : all)
      if (!found.function.isEntry && found.body)
        registers = readFunction(tokens, found, registers, module);
    std::vector<uint64_t> shared(registers);
    for (const auto &[name, function] : module.functions)
      for (size_t i = 0; i < function.registers.size(); ++i)
        shared[i] |= function.registers[i];
    for (Found &found : all) {
      if (!found.function.isEntry)
        continue;
      readFunction(tokens, found, registers, module);
      Function &entry = module.functions.find(found.name)->second;
      std::copy(shared.begin(), shared.end(), entry.registers.begin());
    }
  } catch (const Failed &failed) {
    return failed.why;
  } catch (const std::out_of_range &) {
    return "an instruction has too few operands";
  }
  return std::nullopt;
}

} // namespace fake_cuda
