//! Types of columns, variables and casts.

use super::*;

impl Parser<'_> {
    /// A type as in a column definition. SERIAL is read by [`Parser::column_def`].
    #[inline(never)]
    pub(super) fn data_type(&mut self) -> Result<DataType> {
        use BaseType as B;
        let kw = self.tok().kw;
        let base = match kw {
            Kw::BIT => B::Bit,
            Kw::BOOL | Kw::BOOLEAN | Kw::TINYINT | Kw::INT1 => B::TinyInt,
            Kw::SMALLINT | Kw::INT2 => B::SmallInt,
            Kw::MEDIUMINT | Kw::INT3 | Kw::MIDDLEINT => B::MediumInt,
            Kw::INT | Kw::INTEGER | Kw::INT4 => B::Int,
            Kw::BIGINT | Kw::INT8 => B::BigInt,
            Kw::DECIMAL | Kw::DEC | Kw::NUMERIC | Kw::FIXED => B::Decimal,
            Kw::FLOAT | Kw::FLOAT4 => B::Float,
            Kw::DOUBLE | Kw::FLOAT8 => B::Double,
            Kw::REAL => B::Real,
            Kw::DATE => B::Date,
            Kw::TIME => B::Time,
            Kw::DATETIME => B::DateTime,
            Kw::TIMESTAMP => B::Timestamp,
            Kw::YEAR => B::Year,
            Kw::CHAR | Kw::CHARACTER | Kw::NCHAR | Kw::NATIONAL => B::Char,
            Kw::VARCHAR | Kw::VARCHARACTER | Kw::NVARCHAR => B::VarChar,
            Kw::BINARY => B::Binary,
            Kw::VARBINARY => B::VarBinary,
            Kw::TINYTEXT => B::TinyText,
            Kw::TEXT => B::Text,
            Kw::MEDIUMTEXT | Kw::LONG => B::MediumText,
            Kw::LONGTEXT => B::LongText,
            Kw::TINYBLOB => B::TinyBlob,
            Kw::BLOB => B::Blob,
            Kw::MEDIUMBLOB => B::MediumBlob,
            Kw::LONGBLOB => B::LongBlob,
            Kw::ENUM => B::Enum,
            Kw::SET => B::Set,
            Kw::JSON => B::Json,
            Kw::SERIAL => B::BigInt,
            _ => match geometry(kw) {
                Some(base) => base,
                None if self.at_word("VECTOR") => B::Vector,
                None => return self.syntax(),
            },
        };
        self.advance();
        let mut ty = DataType::new(base);
        match base {
            B::TinyInt if matches!(kw, Kw::BOOL | Kw::BOOLEAN) => ty.length = Some(1),
            B::BigInt if kw == Kw::SERIAL => ty.unsigned = true,
            B::TinyInt | B::SmallInt | B::MediumInt | B::Int | B::BigInt => {
                ty.length = self.opt_length()?;
                self.sign(&mut ty);
                if ty.zerofill {
                    self.notice(Notice::Zerofill);
                }
                if ty.length.is_some() {
                    self.notice(Notice::IntegerWidth);
                }
            }
            B::Decimal | B::Float | B::Double | B::Real => {
                if kw == Kw::DOUBLE {
                    self.eat_kw(Kw::PRECISION);
                }
                self.precision(&mut ty)?;
                self.sign(&mut ty);
                if ty.zerofill {
                    self.notice(Notice::Zerofill);
                }
                if base != B::Decimal && ty.decimals.is_some() {
                    self.notice(Notice::RealDigits);
                }
                if ty.unsigned {
                    self.notice(Notice::UnsignedReal);
                }
            }
            B::Bit | B::Time | B::DateTime | B::Timestamp | B::Binary | B::VarBinary | B::Vector => {
                ty.length = self.opt_length()?;
            }
            B::Year => {
                ty.length = self.opt_length()?;
                if ty.length.is_some() {
                    self.notice(Notice::YearWidth);
                }
                self.sign(&mut ty);
            }
            B::Blob => ty.length = self.opt_length()?,
            B::Char | B::VarChar => self.character(&mut ty, kw)?,
            B::Text => {
                ty.length = self.opt_length()?;
                self.charset_attributes(&mut ty)?;
            }
            B::MediumText if kw == Kw::LONG => self.long(&mut ty)?,
            B::TinyText | B::MediumText | B::LongText => self.charset_attributes(&mut ty)?,
            B::Enum | B::Set => {
                ty.members = self.paren_list(Self::string_bytes)?;
                self.charset_attributes(&mut ty)?;
            }
            _ => {}
        }
        Ok(ty)
    }

    #[inline(never)]
    fn opt_length(&mut self) -> Result<Option<u64>> {
        if self.at(Tok::LParen) { self.paren_number().map(Some) } else { Ok(None) }
    }

    #[inline(never)]
    fn precision(&mut self, ty: &mut DataType) -> Result<()> {
        if self.eat(Tok::LParen) {
            ty.length = Some(self.number()?);
            if self.eat(Tok::Comma) {
                ty.decimals = Some(self.number()?);
            }
            self.expect(Tok::RParen)?;
        }
        Ok(())
    }

    #[inline(never)]
    fn sign(&mut self, ty: &mut DataType) {
        while let Some(kw) = self.one_of(&[Kw::SIGNED, Kw::UNSIGNED, Kw::ZEROFILL]) {
            ty.unsigned |= kw == Kw::UNSIGNED;
            ty.zerofill |= kw == Kw::ZEROFILL;
        }
    }

    /// CHAR, VARCHAR, NCHAR, NVARCHAR, NATIONAL ..., behind the first word.
    #[inline(never)]
    fn character(&mut self, ty: &mut DataType, kw: Kw) -> Result<()> {
        ty.national = matches!(kw, Kw::NCHAR | Kw::NVARCHAR | Kw::NATIONAL);
        if kw == Kw::NATIONAL {
            match self.one_of(&[Kw::CHAR, Kw::CHARACTER, Kw::VARCHAR, Kw::VARCHARACTER]) {
                Some(Kw::VARCHAR | Kw::VARCHARACTER) => ty.base = BaseType::VarChar,
                Some(_) => {}
                None => return self.syntax(),
            }
        }
        let varying = matches!(kw, Kw::CHAR | Kw::CHARACTER | Kw::NCHAR | Kw::NATIONAL) && self.eat_kw(Kw::VARYING);
        if varying || (kw == Kw::NCHAR && self.one_of(&[Kw::VARCHAR, Kw::VARCHARACTER]).is_some()) {
            ty.base = BaseType::VarChar;
        }
        ty.length = self.opt_length()?;
        if ty.base == BaseType::VarChar && ty.length.is_none() {
            return self.syntax();
        }
        if ty.national {
            self.notice(Notice::National);
            ty.bin_collation = self.eat_kw(Kw::BINARY);
            return Ok(());
        }
        self.charset_attributes(ty)
    }

    /// LONG [VARCHAR | VARBINARY]
    #[inline(never)]
    fn long(&mut self, ty: &mut DataType) -> Result<()> {
        if self.eat_kw(Kw::VARBINARY) {
            ty.base = BaseType::MediumBlob;
            return Ok(());
        }
        if self.eat_kw(Kw::CHAR) || self.eat_kw(Kw::CHARACTER) {
            self.expect_kw(Kw::VARYING)?;
        } else if !self.eat_kw(Kw::VARCHAR) {
            self.eat_kw(Kw::VARCHARACTER);
        }
        self.charset_attributes(ty)
    }

    /// `CHARACTER SET x`, ASCII, UNICODE, BYTE, BINARY, in either order.
    #[inline(never)]
    fn charset_attributes(&mut self, ty: &mut DataType) -> Result<()> {
        loop {
            let named = |name: &str, t: Token| Ident { text: name.into(), span: Span { start: t.start, end: t.end } };
            if self.eat_charset() {
                ty.charset = Some(self.charset_name()?);
            } else if self.at_kw(Kw::BINARY) {
                self.advance();
                self.notice(Notice::BinaryAttribute);
                ty.bin_collation = true;
            } else if self.at_kw(Kw::ASCII) {
                self.notice(Notice::CharsetAttribute("ASCII"));
                ty.charset = Some(named("latin1", self.advance()));
            } else if self.at_kw(Kw::UNICODE) {
                self.notice(Notice::CharsetAttribute("UNICODE"));
                ty.charset = Some(named("ucs2", self.advance()));
            } else if self.at_kw(Kw::BYTE) {
                ty.charset = Some(named("binary", self.advance()));
            } else {
                return Ok(());
            }
        }
    }

    /// The type of a CAST.
    #[inline(never)]
    pub(super) fn cast_type(&mut self) -> Result<CastType> {
        use BaseType as B;
        let kw = self.tok().kw;
        match kw {
            Kw::SIGNED | Kw::UNSIGNED => {
                self.advance();
                let _ = self.eat_kw(Kw::INT) || self.eat_kw(Kw::INTEGER);
                return Ok(if kw == Kw::SIGNED { CastType::Signed } else { CastType::Unsigned });
            }
            // MariaDB.
            Kw::INT | Kw::INTEGER => {
                self.advance();
                return Ok(CastType::Signed);
            }
            _ => {}
        }
        let base = match kw {
            Kw::BINARY => B::Binary,
            Kw::CHAR | Kw::CHARACTER | Kw::NCHAR | Kw::NATIONAL => B::Char,
            Kw::DATE => B::Date,
            Kw::YEAR => B::Year,
            Kw::TIME => B::Time,
            Kw::DATETIME => B::DateTime,
            Kw::DECIMAL | Kw::DEC | Kw::NUMERIC | Kw::FIXED => B::Decimal,
            Kw::DOUBLE => B::Double,
            Kw::FLOAT => B::Float,
            Kw::REAL => B::Real,
            Kw::JSON => B::Json,
            _ => match geometry(kw) {
                Some(base) => base,
                None => return self.syntax(),
            },
        };
        self.advance();
        let mut ty = DataType::new(base);
        match base {
            B::Binary | B::Time | B::DateTime => ty.length = self.opt_length()?,
            B::Char => {
                if kw == Kw::NATIONAL && self.one_of(&[Kw::CHAR, Kw::CHARACTER]).is_none() {
                    return self.syntax();
                }
                ty.length = self.opt_length()?;
                ty.national = matches!(kw, Kw::NCHAR | Kw::NATIONAL);
                if ty.national {
                    self.notice(Notice::National);
                } else {
                    self.charset_attributes(&mut ty)?;
                }
            }
            B::Decimal => self.precision(&mut ty)?,
            B::Float => ty.length = self.opt_length()?,
            B::Double => {
                self.eat_kw(Kw::PRECISION);
            }
            _ => {}
        }
        Ok(CastType::Type(ty))
    }
}

fn geometry(kw: Kw) -> Option<BaseType> {
    use BaseType as B;
    Some(match kw {
        Kw::GEOMETRY => B::Geometry,
        Kw::POINT => B::Point,
        Kw::LINESTRING => B::LineString,
        Kw::POLYGON => B::Polygon,
        Kw::MULTIPOINT => B::MultiPoint,
        Kw::MULTILINESTRING => B::MultiLineString,
        Kw::MULTIPOLYGON => B::MultiPolygon,
        Kw::GEOMETRYCOLLECTION | Kw::GEOMCOLLECTION => B::GeometryCollection,
        _ => return None,
    })
}
