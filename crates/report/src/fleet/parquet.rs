//! Apache Parquet, for analytics: the columns of the CSV, with real lists, in row groups of bounded size.

use std::io;
use std::sync::Arc;

use parquet::basic::{Compression, ConvertedType, LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};

use super::record::FleetRecord;
use super::table::{self, Cell, ColumnKind};
use super::writer::{FleetTotals, JudgedBy, Sink, Writer};
use imgcheck_base::error::{Error, Result};

/// Rows of a row group.
const ROWS: usize = 10_000;
/// Bytes of text after which a row group ends earlier.
const BYTES: usize = 8 * 1024 * 1024;

/// Writes Parquet.
struct Parquet {
    file: SerializedFileWriter<Sink>,
    columns: Vec<Column>,
    rows: usize,
    bytes: usize,
}

/// The values of one column of a row group, with their definition and repetition levels
/// (<https://parquet.apache.org/docs/file-format/nestedencoding/>).
struct Column {
    kind: ColumnKind,
    texts: Vec<ByteArray>,
    numbers: Vec<i64>,
    definitions: Vec<i16>,
    repetitions: Vec<i16>,
}

/// Starts a file.
pub(super) fn writer(sink: Sink, judged_by: &JudgedBy) -> Result<Box<dyn Writer>> {
    let start = || {
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(format!("imgcheck {}", env!("CARGO_PKG_VERSION")))
            .set_key_value_metadata(Some(vec![
                KeyValue::new("schema".to_owned(), "imgcheck/fleet/v1".to_owned()),
                KeyValue::new("knowledge".to_owned(), judged_by.knowledge.clone()),
            ]));
        SerializedFileWriter::new(sink, schema()?, Arc::new(properties.build()))
    };
    let file = start().map_err(|error| Error::output("the Parquet file", error))?;
    let columns = table::columns()
        .into_iter()
        .map(|(_, kind)| Column::new(kind));
    Ok(Box::new(Parquet {
        file,
        columns: columns.collect(),
        rows: 0,
        bytes: 0,
    }))
}

fn schema() -> ParquetResult<TypePtr> {
    let columns = table::columns().into_iter().map(|(name, kind)| match kind {
        ColumnKind::Text => text(name, Repetition::REQUIRED),
        ColumnKind::Optional => text(name, Repetition::OPTIONAL),
        ColumnKind::Number => Type::primitive_type_builder(name, PhysicalType::INT64)
            .with_repetition(Repetition::OPTIONAL)
            .build()
            .map(Arc::new),
        ColumnKind::List => list(name),
    });
    let columns: ParquetResult<Vec<TypePtr>> = columns.collect();
    let schema = Type::group_type_builder("fleet").with_fields(columns?);
    Ok(Arc::new(schema.build()?))
}

fn text(name: &str, repetition: Repetition) -> ParquetResult<TypePtr> {
    let column = Type::primitive_type_builder(name, PhysicalType::BYTE_ARRAY)
        .with_repetition(repetition)
        .with_logical_type(Some(LogicalType::String))
        .with_converted_type(ConvertedType::UTF8);
    Ok(Arc::new(column.build()?))
}

/// A list of texts, in the three levels that the format asks for.
fn list(name: &str) -> ParquetResult<TypePtr> {
    let element = text("element", Repetition::REQUIRED)?;
    let repeated = Type::group_type_builder("list")
        .with_repetition(Repetition::REPEATED)
        .with_fields(vec![element])
        .build()?;
    let list = Type::group_type_builder(name)
        .with_repetition(Repetition::REQUIRED)
        .with_logical_type(Some(LogicalType::List))
        .with_converted_type(ConvertedType::LIST)
        .with_fields(vec![Arc::new(repeated)]);
    Ok(Arc::new(list.build()?))
}

impl Writer for Parquet {
    fn write(&mut self, record: &FleetRecord) -> io::Result<()> {
        let row = table::row(record);
        for (column, (_, cell)) in self.columns.iter_mut().zip(row) {
            self.bytes += column.add(cell);
        }
        self.rows += 1;
        match self.rows >= ROWS || self.bytes >= BYTES {
            true => self.end_group(),
            false => Ok(()),
        }
    }

    fn finish(mut self: Box<Self>, _: &FleetTotals) -> io::Result<()> {
        if self.rows > 0 {
            self.end_group()?;
        }
        self.file.finish().map_err(failed)?;
        self.file.inner_mut().flush()
    }
}

impl Parquet {
    fn end_group(&mut self) -> io::Result<()> {
        let mut group = self.file.next_row_group().map_err(failed)?;
        for column in &mut self.columns {
            column.write(&mut group).map_err(failed)?;
        }
        group.close().map_err(failed)?;
        (self.rows, self.bytes) = (0, 0);
        Ok(())
    }
}

fn failed(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(cause) => match cause.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(cause) => io::Error::other(cause),
        },
        other => io::Error::other(other),
    }
}

impl Column {
    fn new(kind: ColumnKind) -> Self {
        Column {
            kind,
            texts: Vec::new(),
            numbers: Vec::new(),
            definitions: Vec::new(),
            repetitions: Vec::new(),
        }
    }

    /// Adds the value of a row, and returns how many bytes it takes.
    fn add(&mut self, cell: Cell) -> usize {
        match cell {
            Cell::Text(text) => self.add_text(text),
            Cell::Optional(text) => {
                self.definitions.push(i16::from(text.is_some()));
                text.map_or(0, |text| self.add_text(text))
            }
            Cell::Number(number) => {
                self.definitions.push(i16::from(number.is_some()));
                let number = number.map(|it| i64::try_from(it).unwrap_or(i64::MAX));
                self.numbers.extend(number);
                8
            }
            Cell::List(texts) => {
                if texts.is_empty() {
                    self.definitions.push(0);
                    self.repetitions.push(0);
                }
                let texts = texts.into_iter().enumerate();
                let bytes = texts.map(|(place, text)| {
                    self.definitions.push(1);
                    self.repetitions.push(i16::from(place > 0));
                    self.add_text(text)
                });
                bytes.sum()
            }
        }
    }

    fn add_text(&mut self, text: String) -> usize {
        let bytes = text.len() + 32;
        self.texts.push(ByteArray::from(text.into_bytes()));
        bytes
    }

    /// Writes the values as the next column of a row group, and forgets them.
    fn write(&mut self, group: &mut SerializedRowGroupWriter<Sink>) -> ParquetResult<()> {
        let missing = || ParquetError::General("a column is missing".to_owned());
        let mut writer = group.next_column()?.ok_or_else(missing)?;
        let definitions = (self.kind != ColumnKind::Text).then_some(self.definitions.as_slice());
        let repetitions = (self.kind == ColumnKind::List).then_some(self.repetitions.as_slice());
        match self.kind {
            ColumnKind::Number => {
                let typed = writer.typed::<Int64Type>();
                typed.write_batch(&self.numbers, definitions, repetitions)?;
            }
            _ => {
                let typed = writer.typed::<ByteArrayType>();
                typed.write_batch(&self.texts, definitions, repetitions)?;
            }
        }
        *self = Column::new(self.kind);
        writer.close()
    }
}
