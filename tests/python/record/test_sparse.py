# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sparse tensors of a lazy device: what eager gives, by counted calls on the host."""

import copy

import pytest
import torch
import torch_ltc
from comparing import on_cpu, printed, saved
from torch import nn
from torch.nn import functional

pytestmark = pytest.mark.filterwarnings("ignore")  # csr is in beta, says PyTorch

MATRIX = torch.tensor([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0], [0.0, 0.0, 4.0]])
DENSE = torch.arange(1.0, 7.0).view(3, 2)
VALUES = torch.tensor([2.0, 1.0, 3.0, 4.0])
PLACES = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 2]])
ROWS, COLUMNS = torch.tensor([0, 1, 3, 4]), torch.tensor([1, 0, 2, 2])


def coo(device, values=VALUES):
    values, places = values.to(device, copy=True), PLACES.to(device)
    return torch.sparse_coo_tensor(places, values, (3, 3))


def csr(device, values=VALUES):
    rows, columns = ROWS.to(device), COLUMNS.to(device)
    return torch.sparse_csr_tensor(rows, columns, values.to(device, copy=True), (3, 3))


# Ways to have one on a device.
MAKE = {
    "coo": coo,
    "csr": csr,
    "moved": lambda device: MATRIX.to_sparse().to(device),
    "moved csr": lambda device: MATRIX.to_sparse_csr().to(device),
    "to_sparse": lambda device: MATRIX.to(device).to_sparse(),
    "to_sparse_csr": lambda device: MATRIX.to(device).to_sparse_csr(),
    "to_sparse_csc": lambda device: MATRIX.to(device).to_sparse_csc(),
}


def about(value):
    """Return what tells tensors apart whose elements are equal."""
    if isinstance(value, (list, tuple)):
        return [about(each) for each in value]
    if not isinstance(value, torch.Tensor):
        return value
    is_coo = value.layout == torch.sparse_coo
    coalesced = value.is_coalesced() if is_coo else None
    return value.layout, value.dtype, value.shape, value.requires_grad, coalesced


def same(run):
    """Compare what a function gives on a lazy device with eager; return that."""
    lazy, eager = run("lazy"), run("cpu")
    assert about(lazy) == about(eager)
    for x in lazy if isinstance(lazy, (list, tuple)) else [lazy]:
        assert not isinstance(x, torch.Tensor) or x.device.type == "lazy"
    torch.testing.assert_close(on_cpu(lazy), on_cpu(eager))
    return lazy


ANY = {
    "make": lambda s, x: s,
    "mm": lambda s, x: torch.mm(s, x),
    "@": lambda s, x: s @ x,
    "@ of a transposed": lambda s, x: s.t() @ x,
    "@ of a vector": lambda s, x: s @ x[:, 0],
    "sparse.mm": lambda s, x: torch.sparse.mm(s, x),
    "spmm": lambda s, x: torch.spmm(s, x),
    "addmm": lambda s, x: torch.sparse.addmm(x, s, x, beta=0.5, alpha=2),
    "sparse by sparse": lambda s, x: torch.sparse.mm(s, s),
    "t": lambda s, x: s.t(),
    "to_dense": lambda s, x: s.to_dense(),
    "to_sparse_csr": lambda s, x: s.to_sparse_csr(),
    "to_sparse": lambda s, x: s.to_sparse(),
    "times a number": lambda s, x: s * 2,
    "negative": lambda s, x: -s,
    "sqrt": lambda s, x: s.sqrt(),
    "added to a dense one": lambda s, x: x @ x.t() + s,
    "added in place": lambda s, x: (x @ x.t()).add_(s, alpha=2),
    "scaled in place": lambda s, x: s.mul_(3),
    "double": lambda s, x: s.double(),
    "clone": lambda s, x: s.clone(),
    "detach": lambda s, x: s.detach(),
    "zeros_like": lambda s, x: torch.zeros_like(s),
    "a mask": lambda s, x: (x @ x.t()).sparse_mask(s),
    "one row": lambda s, x: s[1],
    "questions": lambda s, x: [s._nnz(), s.sparse_dim(), s.dense_dim(), s.is_sparse],
    "saved": lambda s, x: saved(s),
    "printed": lambda s, x: printed(s) == printed(s.cpu()),
}
COO = {
    "coalesce": lambda s, x: (s + s).coalesce(),
    "indices": lambda s, x: s.coalesce().indices(),
    "values": lambda s, x: s.coalesce().values() * 2,
    "times a dense one": lambda s, x: s * (x @ x.t()),
    "sparse.sum": lambda s, x: torch.sparse.sum(s),
    "sum of rows": lambda s, x: torch.sparse.sum(s, 1),
    "softmax": lambda s, x: torch.sparse.softmax(s, 1),
    "index_select": lambda s, x: s.index_select(0, COLUMNS[:2].to(s.device)),
    "cat": lambda s, x: torch.cat([s, s]),
    "add_": lambda s, x: s.clone().add_(s),
    "copy_": lambda s, x: s.clone().copy_(s * 2),
    "copy_ of the CPU's": lambda s, x: s.clone().copy_(MATRIX.to_sparse() * 2),
    "zero_": lambda s, x: s.clone().zero_(),
    "smm": lambda s, x: torch.smm(s, x),
    "hspmm": lambda s, x: torch.hspmm(s, x),
    "sspaddmm": lambda s, x: torch.sspaddmm(s, s, x @ x.t()),
    "deepcopy": lambda s, x: copy.deepcopy(s),
    "empty": lambda s, x: torch.sparse_coo_tensor((3, 3), device=x.device),
    "of numbers": lambda s, x: torch.sparse_coo_tensor(
        [[0, 1], [1, 0]], [1.0, 2.0], (3, 3), device=x.device
    ),
    "spdiags": lambda s, x: torch.sparse.spdiags(x.t(), torch.tensor([0, 1]), (3, 3)),
    "mm into": lambda s, x: torch.mm(s, x, out=torch.empty_like(x)),
    "mm into a small one": lambda s, x: torch.mm(s, x, out=x.new_empty(0)),
}
CSR = {
    "crow_indices": lambda s, x: [s.crow_indices(), s.col_indices(), s.values() * 2],
    "sampled": lambda s, x: torch.sparse.sampled_addmm(s, x, x.t()),
    "greatest products": lambda s, x: torch.sparse.mm(s, x, "amax"),
    "bsr": lambda s, x: torch.eye(4, device=x.device).to_sparse_bsr((2, 2)),
    "of numbers": lambda s, x: torch.sparse_csr_tensor(
        [0, 1, 2, 2], [1, 0], [1.0, 2.0], (3, 3), device=x.device
    ),
}


@pytest.mark.parametrize("make", ["coo", "csr", "to_sparse_csc"])
@pytest.mark.parametrize("op", ANY)
def test_ops(op, make):
    same(lambda device: ANY[op](MAKE[make](device), DENSE.to(device)))


@pytest.mark.parametrize("make", MAKE)
def test_ways_to_have_one(make):
    same(lambda device: [MAKE[make](device), MAKE[make](device) @ DENSE.to(device)])


@pytest.mark.parametrize("op", COO)
def test_ops_of_coo(op):
    same(lambda device: COO[op](coo(device), DENSE.to(device)))


@pytest.mark.parametrize("op", CSR)
def test_ops_of_csr(op):
    same(lambda device: CSR[op](csr(device), DENSE.to(device)))


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("make", ["coo", "csr"])
def test_without_gradients(make, mode):
    @mode()
    def run(device):
        product = MAKE[make](device) @ DENSE.to(device)
        return product.cpu().clone()

    assert torch.equal(run("lazy"), run("cpu"))


@pytest.mark.parametrize("product", [torch.sparse.mm, torch.mm])
@pytest.mark.parametrize("make", ["coo", "csr", "to_sparse_csc"])
def test_gradients_of_both_sides(make, product):
    def run(device):
        sparse = MAKE[make](device).detach().requires_grad_()
        x = DENSE.to(device).clone().requires_grad_()
        product(sparse, x).square().sum().backward()
        return [x.grad, sparse.grad]

    try:
        run("cpu")
    except RuntimeError:
        assert make == "to_sparse_csc"  # which is refused here, too
        with pytest.raises(RuntimeError):
            run("lazy")
    else:
        same(run)


@pytest.mark.parametrize("make", [coo, csr])
def test_gradients_of_values(make):
    def run(device):
        values = VALUES.to(device).clone().requires_grad_()
        torch.sparse.mm(make(device, values), DENSE.to(device)).exp().sum().backward()
        return values.grad

    same(run)


def test_gradients_of_the_greatest_products():
    """Eager's kernel looks at its arguments for what it has to save."""

    def run(device):
        sparse = csr(device).detach().requires_grad_()
        x = DENSE.to(device).clone().requires_grad_()
        torch.sparse.mm(sparse, x, "amax").square().sum().backward()
        return [x.grad, sparse.grad]

    same(run)


def test_gradients_through_to_sparse():
    def run(device):
        dense = MATRIX.to(device).clone().requires_grad_()
        dense.to_sparse().to_dense().square().sum().backward()
        return dense.grad

    same(run)


@pytest.mark.parametrize("make", [coo, csr])
def test_members_are_lazy_tensors(make):
    """A write to the values is one to the sparse tensor, and the other way round."""

    def run(device):
        sparse = make(device)
        values = sparse._values() if make is coo else sparse.values()
        values.mul_(2)
        values[0] = -1
        sparse.mul_(3)
        return [sparse, values]

    same(run)


class Graph(nn.Module):
    """Two layers of a graph network."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 2)

    def forward(self, adjacency, x):
        hidden = torch.relu(torch.sparse.mm(adjacency, self.first(x)))
        return adjacency @ self.second(hidden)


OPTIMIZERS = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    "Adam": lambda p: torch.optim.Adam(p, lr=0.01),
}


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("make", ["coo", "moved csr"])
def test_graph_networks_train(make, optimizer, counts):
    def run(device):
        torch.manual_seed(0)
        model = Graph()
        x, y = torch.randn(3, 4).to(device), torch.tensor([0, 1, 0]).to(device)
        adjacency, model = MAKE[make](device), model.to(device)
        steps = OPTIMIZERS[optimizer](model.parameters())
        losses = []
        for _ in range(20):
            loss = functional.cross_entropy(model(adjacency, x), y)
            steps.zero_grad()
            loss.backward()
            steps.step()
            losses.append(loss.detach())
        return [torch.stack(losses), *[p.detach() for p in model.parameters()]]

    same(run)
    assert counts["record.fallback.aten::_sparse_addmm"] == 20


SPARSE_GRADIENTS = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.1),
    "SGD one by one": lambda p: torch.optim.SGD(p, lr=0.1, foreach=False),
    "SparseAdam": lambda p: torch.optim.SparseAdam(p, lr=0.1),
    "Adagrad": lambda p: torch.optim.Adagrad(p, lr=0.1),
}


@pytest.mark.parametrize("optimizer", SPARSE_GRADIENTS)
@pytest.mark.parametrize("layer", [nn.Embedding, nn.EmbeddingBag])
def test_sparse_gradients(layer, optimizer):
    def run(device):
        torch.manual_seed(0)
        options = {} if layer is nn.Embedding else {"mode": "sum"}
        embedding = layer(6, 3, sparse=True, **options).to(device)
        steps = SPARSE_GRADIENTS[optimizer](embedding.parameters())
        for i in range(4):
            steps.zero_grad()
            chosen = torch.tensor([[1, 2], [2, i]], device=device)
            embedding(chosen).square().sum().backward()
            steps.step()
        return [embedding.weight.grad.coalesce(), embedding.weight]

    same(run)


def test_modules_move():
    def run(device):
        module = nn.Module()
        module.register_buffer("adjacency", MATRIX.to_sparse())
        module.register_buffer("rows", MATRIX.to_sparse_csr())
        module.to(device)
        return [module.adjacency, module.rows @ DENSE.to(device)]

    same(run)


def test_only_what_computes_is_counted(counts):
    sparse = MATRIX.to_sparse().to("lazy")
    torch.zeros(3, 3, device="lazy", layout=torch.sparse_coo)
    assert sparse._nnz() == 4 and sparse.indices().device.type == "lazy"
    assert sparse.cpu().layout == torch.sparse_coo
    made = torch.sparse_coo_tensor(sparse.indices(), sparse.values() * 2, (3, 3))
    assert counts.fallbacks() == []
    made.to_dense()
    assert counts.fallbacks() == ["record.fallback.aten::_to_dense"]


def test_graphs_are_not_split_where_that_is_forbidden():
    sparse, x = coo("lazy"), DENSE.to("lazy")
    refused = pytest.raises(torch_ltc.UnsupportedOpError)
    with torch_ltc.settings.scope(fallback="error"), refused as raised:
        torch.sparse.mm(sparse, x)
    message = str(raised.value)
    assert "aten::_sparse_addmm" in message and "Sparse f32[3, 3]" in message
    assert "LTC_FALLBACK=error" in message and "test_sparse.py" in message


def test_sparse_tensors_of_the_cpu_are_elsewhere():
    with pytest.raises(RuntimeError, match="lazy:0 and cpu"):
        torch.sparse.mm(MATRIX.to_sparse(), DENSE.to("lazy"))
    with pytest.raises(RuntimeError, match="lazy:0 and cpu"):
        MATRIX.to_sparse() @ DENSE.to("lazy")


def test_eagers_words():
    places = torch.tensor([[0, 5], [1, 0]])

    def run(device):
        values = torch.ones(2, device=device)
        with pytest.raises(RuntimeError) as raised:
            torch.sparse_coo_tensor(
                places.to(device), values, (3, 3), check_invariants=True
            )
        return str(raised.value)

    assert run("lazy") == run("cpu")


FIRST = {
    "coo": ("torch.eye(3).to_sparse()", "x.to('lazy')"),
    "csr": ("torch.eye(3).to_sparse_csr()", "x.to('lazy')"),
    "size": ("torch.sparse_coo", "torch.zeros(3, 3, device='lazy', layout=x)"),
    "csr size": ("torch.sparse_csr", "torch.empty(3, 3, device='lazy', layout=x)"),
    "file": ("torch.eye(3).to_sparse()", "loaded(x)"),
}


@pytest.mark.parametrize("name", FIRST)
def test_the_first_tensor_of_a_process(run_python, name):
    made, moved = FIRST[name]
    run_python(f"""
import io, warnings
import torch
warnings.simplefilter("ignore")

def loaded(x):
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    return torch.load(file, map_location="lazy")

x = {made}
y = {moved}
assert y.device.type == "lazy" and y.shape == (3, 3)
if isinstance(x, torch.Tensor):
    assert torch.equal((y @ torch.eye(3, device="lazy")).cpu(), torch.eye(3))
""")


def test_a_result_takes_the_place_of_all_members():
    matrix = torch.eye(5).to_sparse_csr()
    left, right = torch.ones(5, 2), torch.ones(2, 5)
    for device in ("cpu", "lazy"):
        sparse, a, b = (t.to(device) for t in (matrix, left, right))
        out = torch.zeros_like(sparse)  # of which no row has elements
        torch.sparse.sampled_addmm(sparse, a, b, out=out)
        assert out.crow_indices().tolist() == [0, 1, 2, 3, 4, 5]
        assert out.to_dense().diagonal().tolist() == [3] * 5
