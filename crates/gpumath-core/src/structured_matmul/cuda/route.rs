//! The steps of one product on a GPU.

use super::calls::{BlasCall, Kind, Transform};
use super::completion::Completion;
use super::kernel_call::KernelCall;
use super::operand::{Operand, Order, Place};
use super::way::{HalfStored, Way};
use crate::cpu_blas::{Structure, Triangle};
use crate::error::Result;
use crate::kernels::{Elements, StructuredKernel, TiledCopy};
use crate::memory::ALIGNMENT;
use crate::structured_matmul::problem::Product;
use crate::tensor::{BatchDims, DType, Layout};

/// What is enqueued, in this order, and the memory that it takes.
#[derive(Debug)]
pub(super) struct Route {
    pub(super) steps: Vec<Step>,
    /// Bytes of workspace for copies.
    pub(super) size: usize,
    dtype: DType,
    /// Whether `c` is in the memory of the result, in the same layout.
    is_in_place: bool,
    /// Bytes that a completed matrix may take.
    most_completed: usize,
}

/// What one kernel or a batch of calls does.
#[derive(Debug)]
pub(super) enum Step {
    /// Copies matrices to another layout.
    Copy { to: Place, from: Place, copy: TiledCopy, condition: Condition },
    /// Conjugates a copy.
    Conjugate { at: Place, imaginary_parts: Box<Elements> },
    /// Copies matrices of which one triangle is stored, and completes the copies.
    Complete { from: Place, completion: Box<Completion> },
    /// Multiplies by a matrix with a structure, in a kernel of ours.
    Structured { call: KernelCall, alpha: Factor },
    /// Makes an identity matrix.
    Identity { at: Place, side: i64 },
    /// Calls cuBLAS.
    Call { call: Box<BlasCall>, x: Place, y: Place, z: Place, alpha: Factor, beta: Factor },
}

/// When a step is necessary.
#[derive(Clone, Copy, Debug)]
pub(super) enum Condition {
    Always,
    /// If `beta` is not 0.
    WithBeta,
}

/// A number of a call.
#[derive(Clone, Copy, Debug)]
pub(super) enum Factor {
    Zero,
    One,
    Alpha,
    Beta,
}

impl Route {
    pub(super) fn of(
        product: &Product,
        dtype: DType,
        has_addend: bool,
        is_in_place: bool,
        most_completed: usize,
    ) -> Result<Self> {
        let mut route = Self { steps: Vec::new(), size: 0, dtype, is_in_place, most_completed };
        let (mut a, mut b) =
            (Operand::factor(product, 0, dtype), Operand::factor(product, 1, dtype));
        let [_, _, c, out] = &product.matrices;
        let mut c = has_addend.then(|| Operand::general(Place::Input(2), c.clone()));
        let out = Operand::general(Place::Result, out.clone());
        let mut result = out.clone();
        if result.step(Order::Columns).is_none() && result.step(Order::Rows).is_none() {
            result = route.reserve(&result, Order::Rows);
        }
        let is_transposed = result.step(Order::Columns).is_none();
        if is_transposed {
            (a, b) = (b.transposed(), a.transposed());
            result = result.transposed();
            c = c.map(Operand::transposed);
        }
        route.multiply(a, b, c, &result)?;
        if result.place != out.place {
            let out = if is_transposed { out.transposed() } else { out };
            route.copy(&out, &result, Condition::Always)?;
        }
        Ok(route)
    }

    /// Adds the steps of `result = alpha * a @ b + beta * c`, for a result in column-major order.
    fn multiply(
        &mut self,
        a: Operand,
        b: Operand,
        c: Option<Operand>,
        result: &Operand,
    ) -> Result<()> {
        if a.extents()[1] == 0 {
            return self.scale_addend(c, result);
        }
        match (a.structure, b.structure) {
            (Structure::General, Structure::General) => self.multiply_general(a, b, c, result),
            (Structure::General, _) => self.multiply_structured(b, a, true, c, result),
            (_, Structure::General) => self.multiply_structured(a, b, false, c, result),
            (left, right) => {
                // One of them becomes a general matrix: not the diagonal one if there is one.
                let (a, b) = if right.is_diagonal() && !left.is_diagonal() {
                    (self.completed(a)?, b)
                } else if right.is_diagonal() {
                    (a, self.expanded(b)?)
                } else {
                    (a, self.completed(b)?)
                };
                self.multiply(a, b, c, result)
            }
        }
    }

    /// Adds a general product.
    fn multiply_general(
        &mut self,
        a: Operand,
        b: Operand,
        c: Option<Operand>,
        result: &Operand,
    ) -> Result<()> {
        let (a, b) = (self.transformable(a)?, self.transformable(b)?);
        let transforms = [transform_of(&a), transform_of(&b)];
        let beta = self.copy_addend(c, result)?;
        let [rows, columns] = result.extents();
        let shape = [rows, columns, a.extents()[1]];
        self.call(Kind::General(transforms), shape, [&a, &b, result], [Factor::Alpha, beta]);
        Ok(())
    }

    /// Adds a product of a matrix with a structure, which is the right factor if `is_right`.
    fn multiply_structured(
        &mut self,
        matrix: Operand,
        other: Operand,
        is_right: bool,
        c: Option<Operand>,
        result: &Operand,
    ) -> Result<()> {
        let kernel_call = |kernel: StructuredKernel| {
            let factors = [&matrix, &other];
            let call = KernelCall::new(kernel, self.dtype, factors, is_right, c.as_ref(), result);
            call.map(|call| Step::Structured { call, alpha: Factor::Alpha })
        };
        let is_in_place = self.is_in_place && c.is_some();
        let half_stored = HalfStored::new(self.dtype, &matrix, is_right, result);
        let way = half_stored.map_or(Way::Kernel(StructuredKernel::Diagonal), |product| {
            product.way(self.most_completed, is_in_place)
        });
        match way {
            Way::Kernel(kernel) => self.steps.extend(kernel_call(kernel)),
            Way::Completed => {
                let is_triangular = half_stored.is_some_and(HalfStored::is_triangular);
                let repair =
                    if is_triangular { kernel_call(StructuredKernel::Repair) } else { None };
                let whole = self.completed(matrix)?;
                let (a, b) = if is_right { (other, whole) } else { (whole, other) };
                self.multiply_general(a, b, c, result)?;
                self.steps.extend(repair);
            }
            Way::Library => self.multiply_by_library(matrix, other, is_right, c, result)?,
            Way::LibraryTransposed => {
                let (matrix, other, c) =
                    (matrix.transposed(), other.transposed(), c.map(Operand::transposed));
                let result = result.clone().transposed();
                let target = self.reserve(&result, Order::Columns);
                self.multiply_by_library(matrix, other, !is_right, c, &target)?;
                self.copy(&result, &target, Condition::Always)?;
            }
        }
        Ok(())
    }

    /// Adds a product of a symmetric, Hermitian or triangular matrix by cuBLAS.
    fn multiply_by_library(
        &mut self,
        matrix: Operand,
        other: Operand,
        is_right: bool,
        c: Option<Operand>,
        result: &Operand,
    ) -> Result<()> {
        let [rows, columns] = result.extents();
        let other = self.plain(other)?;
        let shape = [rows, columns, 0];
        match matrix.structure {
            Structure::Symmetric(triangle) => {
                let matrix = if matrix.is_conjugated || !is_ordered(&matrix) {
                    self.plain(matrix)?
                } else {
                    matrix
                };
                let is_turned = matrix.step(Order::Columns).is_none();
                let is_upper = (triangle == Triangle::Upper) != is_turned;
                let kind = Kind::Symmetric { is_right, is_upper, is_hermitian: false };
                let beta = self.copy_addend(c, result)?;
                self.call(kind, shape, [&matrix, &other, result], [Factor::Alpha, beta]);
                Ok(())
            }
            Structure::Hermitian(triangle) => {
                // The conjugate is the transposed matrix: another order of the same memory.
                let wanted = if matrix.is_conjugated { Order::Rows } else { Order::Columns };
                let matrix = match matrix.step(wanted) {
                    Some(_) => matrix,
                    None => self.copied(&matrix, wanted)?,
                };
                let is_upper = (triangle == Triangle::Upper) != matrix.is_conjugated;
                let kind = Kind::Symmetric { is_right, is_upper, is_hermitian: true };
                let beta = self.copy_addend(c, result)?;
                self.call(kind, shape, [&matrix, &other, result], [Factor::Alpha, beta]);
                Ok(())
            }
            Structure::Triangular { triangle, has_unit_diagonal } => {
                let matrix = self.transformable(matrix)?;
                let transform = transform_of(&matrix);
                let is_upper = (triangle == Triangle::Upper) != (transform != Transform::None);
                let kind = Kind::Triangular { is_right, is_upper, transform, has_unit_diagonal };
                let target = self.target_beside(c.as_ref(), result);
                let scalars = [Factor::Alpha, Factor::Zero];
                self.call(kind, shape, [&matrix, &other, &target], scalars);
                self.add_addend(c, &target, result)
            }
            Structure::General | Structure::Diagonal { .. } => Ok(()),
        }
    }

    /// Returns the matrix that a product without `beta` is written to: memory of its own if there
    /// is something to add, which may be in the result's memory.
    fn target_beside(&mut self, c: Option<&Operand>, result: &Operand) -> Operand {
        match c {
            Some(_) => self.reserve(result, Order::Columns),
            None => result.clone(),
        }
    }

    /// Adds `result = target + beta * c`, if there is a `c`.
    fn add_addend(&mut self, c: Option<Operand>, target: &Operand, result: &Operand) -> Result<()> {
        let Some(c) = c else { return Ok(()) };
        let [rows, columns] = result.extents();
        let c = if is_ordered(&c) { c } else { self.copied(&c, Order::Columns)? };
        let kind = Kind::Sum([Transform::None, transform_of(&c)]);
        let scalars = [Factor::One, Factor::Beta];
        self.call(kind, [rows, columns, 0], [target, &c, result], scalars);
        Ok(())
    }

    /// Adds `result = beta * c`, or zero.
    fn scale_addend(&mut self, c: Option<Operand>, result: &Operand) -> Result<()> {
        let beta = self.copy_addend(c, result)?;
        let [rows, columns] = result.extents();
        let kind = Kind::Sum([Transform::None; 2]);
        self.call(kind, [rows, columns, 0], [result, result, result], [Factor::Zero, beta]);
        Ok(())
    }

    /// Copies `c` to the result, and returns the factor of the result in the call that follows.
    fn copy_addend(&mut self, c: Option<Operand>, result: &Operand) -> Result<Factor> {
        let Some(c) = c else { return Ok(Factor::Zero) };
        if self.is_in_place && result.place == Place::Result {
            return Ok(Factor::Beta);
        }
        self.copy(result, &c, Condition::WithBeta)?;
        Ok(Factor::Beta)
    }

    /// Adds the calls for all entries of a batch.
    fn call(
        &mut self,
        kind: Kind,
        shape: [i64; 3],
        [x, y, z]: [&Operand; 3],
        [alpha, beta]: [Factor; 2],
    ) {
        let axis = z.axis();
        let batch = BatchDims::outside(&[axis, axis + 1], [&x.layout, &y.layout, &z.layout]);
        let column = |operand: &Operand| {
            // What is still conjugated is transposed, too.
            let by_columns = operand.step(Order::Columns).filter(|_| !operand.is_conjugated);
            by_columns.or(operand.step(Order::Rows)).unwrap_or(1)
        };
        let call = BlasCall::new(kind, shape, [column(x), column(y), column(z)], batch);
        let (x, y, z) = (x.place, y.place, z.place);
        let call = Box::new(call);
        self.steps.push(Step::Call { call, x, y, z, alpha, beta });
    }

    /// Returns a factor that cuBLAS takes, transposed or not. It conjugates what it transposes.
    fn transformable(&mut self, operand: Operand) -> Result<Operand> {
        let can_be_taken = if operand.is_conjugated {
            operand.step(Order::Rows).is_some()
        } else {
            is_ordered(&operand)
        };
        match (can_be_taken, operand.is_conjugated) {
            (true, _) => Ok(operand),
            (false, true) => self.copied(&operand, Order::Rows),
            (false, false) => self.copied(&operand, Order::Columns),
        }
    }

    /// Returns a matrix in column-major order whose elements count as they are.
    fn plain(&mut self, operand: Operand) -> Result<Operand> {
        if operand.step(Order::Columns).is_some() && !operand.is_conjugated {
            return Ok(operand);
        }
        let is_conjugated = operand.is_conjugated;
        let mut copy = self.copied(&operand, Order::Columns)?;
        if is_conjugated {
            self.conjugate(&mut copy)?;
        }
        Ok(copy)
    }

    /// Returns a copy of a matrix with all its elements.
    fn completed(&mut self, matrix: Operand) -> Result<Operand> {
        let completion = Completion::of(&matrix.layout, matrix.structure, self.dtype, self.size)?;
        let Some((completion, layout, size)) = completion else { return Ok(matrix) };
        let place = Place::Workspace(self.size);
        self.size += size;
        self.steps.push(Step::Complete { from: matrix.place, completion: Box::new(completion) });
        Ok(Operand { place, layout, structure: Structure::General, ..matrix })
    }

    /// Returns all elements of a diagonal matrix: its product with the identity.
    fn expanded(&mut self, operand: Operand) -> Result<Operand> {
        let [side, _] = operand.extents();
        let mut shape = operand.layout.clone();
        shape.strides[..operand.axis()].fill(0);
        let mut identity = self.reserve(&Operand::general(operand.place, shape), Order::Columns);
        identity.structure = Structure::General;
        self.steps.push(Step::Identity { at: identity.place, side });
        let whole = Operand::general(operand.place, operand.layout.clone());
        let target = self.reserve(&whole, Order::Columns);
        let first = self.steps.len();
        self.multiply(operand, identity, None, &target)?;
        // Without the scalars of the product.
        for step in &mut self.steps[first..] {
            if let Step::Call { alpha: alpha @ Factor::Alpha, .. }
            | Step::Structured { alpha: alpha @ Factor::Alpha, .. } = step
            {
                *alpha = Factor::One;
            }
        }
        Ok(target)
    }

    /// Copies an operand to the workspace.
    pub(super) fn copied(&mut self, operand: &Operand, order: Order) -> Result<Operand> {
        let copy = self.reserve(operand, order);
        self.copy(&copy, operand, Condition::Always)?;
        Ok(copy)
    }

    /// Adds a copy of all elements. Entries of a batch that share memory are copied once.
    fn copy(&mut self, to: &Operand, from: &Operand, condition: Condition) -> Result<()> {
        let (mut target, mut source) = (to.layout.clone(), from.layout.clone());
        for axis in 0..target.ndim() {
            if target.strides[axis] == 0 {
                (target.shape[axis], source.shape[axis]) = (1, 1);
            }
        }
        let copy = TiledCopy::of(&target, &source, self.dtype.size())?;
        self.steps.push(Step::Copy { to: to.place, from: from.place, copy, condition });
        Ok(())
    }

    /// Adds that a copy is conjugated.
    fn conjugate(&mut self, copy: &mut Operand) -> Result<()> {
        let mut parts = copy.layout.clone();
        for axis in 0..parts.ndim() {
            if parts.strides[axis] == 0 {
                parts.shape[axis] = 1;
            }
            parts.strides[axis] *= 2;
        }
        let imaginary_parts = Box::new(Elements::of(&parts)?);
        self.steps.push(Step::Conjugate { at: copy.place, imaginary_parts });
        copy.is_conjugated = false;
        Ok(())
    }

    /// Reserves workspace for matrices like these, without gaps. Entries of a batch that share
    /// memory share it there too.
    fn reserve(&mut self, like: &Operand, order: Order) -> Operand {
        let mut shape = like.layout.shape.clone();
        let axis = like.axis();
        for (extent, &stride) in shape.iter_mut().zip(&like.layout.strides).take(axis) {
            if stride == 0 {
                *extent = 1;
            }
        }
        let is_vector = like.structure.is_diagonal();
        if is_vector {
            shape[axis + 1] = 1;
        }
        let mut dims: Vec<usize> = (0..like.layout.ndim()).collect();
        if order == Order::Columns {
            dims.swap(axis, axis + 1);
        }
        let mut layout = Layout::packed(&shape, &dims);
        let size = layout.len() as usize * self.dtype.size();
        for index in 0..like.layout.ndim() {
            let is_shared = shape[index] != like.layout.shape[index];
            if is_shared {
                layout.strides[index] = 0;
            }
        }
        layout.shape.clone_from(&like.layout.shape);
        let place = Place::Workspace(self.size);
        self.size = (self.size + size).next_multiple_of(ALIGNMENT);
        Operand { place, layout, ..like.clone() }
    }
}

/// Whether a matrix is in column-major or in row-major order.
fn is_ordered(operand: &Operand) -> bool {
    operand.step(Order::Columns).is_some() || operand.step(Order::Rows).is_some()
}

/// What cuBLAS is to do with a matrix that is [transformable](Route::transformable).
fn transform_of(operand: &Operand) -> Transform {
    match (operand.is_conjugated, operand.step(Order::Columns)) {
        (true, _) => Transform::Adjoint,
        (false, Some(_)) => Transform::None,
        (false, None) => Transform::Transposed,
    }
}
